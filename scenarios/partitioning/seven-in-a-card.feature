@partitioning @needs:DRAPartitionableDevices
Feature: An A100 cut in seven
  A card of seven compute slices serves seven small jobs at once, and says plainly why it cannot serve an eighth.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode

  @smoke
  Scenario: seven small jobs run and the eighth waits its turn
    When 8 pods each claim one "1g.5gb"
    Then 7 pods run, each on a partition of its own
    And 1 pod waits, and the scheduler says it "cannot allocate all claims"
    And each running pod sees 1 GPU and 1 MIG device
    And claims, counters and the card agree
    When a running pod ends
    Then the waiting pod runs within 30 seconds
    And claims, counters and the card agree
    When all pods end
    Then the card is whole again
