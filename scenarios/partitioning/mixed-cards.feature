@partitioning @own-claims @needs:DRAPartitionableDevices
Feature: A card without MIG beside one with
  One node may hold both. A claim for a partition goes to the one card, a claim for a whole card to the other, and
  neither stands in for the other.

  Scenario: partitions come from the A100 and the whole card is the L40S
    Given a node with 1 "A100-SXM4-40GB" in MIG mode and 1 "L40S"
    When a pod claims a whole card
    Then pod "pod-1" runs
    And pod "pod-1" gets "gpu-1"
    When a pod claims one "7g.40gb"
    Then 2 pods run
    And claims, counters and the card agree
    When a pod claims a whole card
    Then 1 pod waits, and the scheduler says it "cannot allocate all claims"
    When pod "pod-1" ends
    Then the waiting pod runs within 30 seconds
    When a pod claims one "1g.5gb"
    Then 1 pod waits, and the scheduler says it "cannot allocate all claims"
