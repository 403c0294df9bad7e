@allocation @needs:DRAPartitionableDevices
Feature: First match
  The allocator takes the first device in published order that fits and is free. It neither packs nor scores, so what
  a claim gets is decided by the order in which the driver publishes. A wide class shows it: on an A100 of 40 GB the
  first partition by name is a 1g.10gb, not the smaller 1g.5gb.

  Scenario: a class that admits every partition gets the first that is published
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    When 3 pods, one after another, each claim any device of class "mig.nvidia.com"
    Then 3 pods run, each on a partition of its own
    And each pod has got the first device, in published order, that was free when it came
    And claims, counters and the card agree

  Scenario: the second card is touched when the first has nothing left
    Given a node with 2 "A100-SXM4-40GB" in MIG mode
    When pods claim these partitions, one after another:
      | profile |
      | 4g.20gb |
      | 3g.20gb |
      | 3g.20gb |
      | 2g.10gb |
    Then 4 pods run, each on a partition of its own
    And each pod has got the first device, in published order, that was free when it came
    And claims, counters and the card agree
