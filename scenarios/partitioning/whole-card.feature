@partitioning
Feature: A whole card or its partitions, never both
  From Hopper on the driver offers the card whole and cut at the same time; the counters see to it that nobody gets
  both. On an Ampere card MIG mode decides at boot which of the two there is.

  @smoke @needs:DRAPartitionableDevices
  Scenario: who holds a whole H100 shares it with nobody
    Given a node with 1 "H100-SXM5-80GB"
    Then the node offers 1 whole card and partitions of each
    When a pod claims a whole card
    Then 1 pod runs
    And each running pod sees 1 GPU and no MIG device
    And claims, counters and the card agree
    When a pod claims one "1g.10gb"
    Then 1 pod waits, and the scheduler says it "cannot allocate all claims"
    When a running pod ends
    Then the waiting pod runs within 30 seconds
    And each running pod sees 1 GPU and 1 MIG device
    And claims, counters and the card agree
    When all pods end
    Then the card is whole again

  @needs:DRAPartitionableDevices
  Scenario: one small partition keeps an H100 from being handed out whole
    Given a node with 1 "H100-SXM5-80GB"
    When a pod claims one "1g.10gb"
    Then 1 pod runs, each on a partition of its own
    When a pod claims a whole card
    Then 1 pod waits, and the scheduler says it "cannot allocate all claims"
    When a running pod ends
    Then the waiting pod runs within 30 seconds
    And each running pod sees 1 GPU and no MIG device
    And claims, counters and the card agree

  Scenario: an A100 with MIG mode off is offered whole and only whole
    Given a node with 1 "A100-SXM4-40GB"
    Then the node offers 1 whole card and no partition
    When a pod claims one "1g.5gb"
    Then 1 pod waits, and the scheduler says it "cannot allocate all claims"

  @needs:DRAPartitionableDevices
  Scenario: an A100 in MIG mode is offered in partitions and only so
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    Then the node offers partitions of 1 card and no whole card
    When a pod claims a whole card
    Then 1 pod waits, and the scheduler says it "cannot allocate all claims"
