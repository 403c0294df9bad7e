@partitioning @needs:DRAPartitionableDevices
Feature: Partitions of several sizes on one card
  A layout fits when both its compute slices and its memory slices fit, and where a partition may begin is fixed by the
  card. The order in which partitions come decides, too: the allocator takes the first place that is free and never
  moves what stands.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode

  @smoke
  Scenario: a medium, two small and a large partition fill the card, and nothing more fits
    When pods claim these partitions, one after another:
      | profile |
      | 2g.10gb |
      | 1g.5gb  |
      | 1g.5gb  |
      | 3g.20gb |
    Then 4 pods run, each on a partition of its own
    And each running pod sees 1 GPU and 1 MIG device
    And claims, counters and the card agree
    When a pod claims one "1g.5gb"
    Then 1 pod waits, and the scheduler says it "cannot allocate all claims"
    And 4 pods run
    When all pods end
    Then the card is whole again

  Scenario: the same four come with the largest first, and the last one finds no place
    When pods claim these partitions, one after another:
      | profile |
      | 3g.20gb |
      | 2g.10gb |
      | 1g.5gb  |
      | 1g.5gb  |
    Then 3 pods run, each on a partition of its own
    And 1 pod waits, and the scheduler says it "cannot allocate all claims"
    And claims, counters and the card agree

  Scenario Outline: a card holds <count> of <profile> and not one more
    When <one more> pods each claim one "<profile>"
    Then <count> pods run, each on a partition of its own
    And 1 pod waits, and the scheduler says it "cannot allocate all claims"
    And each running pod sees 1 GPU and 1 MIG device
    And claims, counters and the card agree

    Examples:
      | profile | count | one more |
      | 2g.10gb | 3     | 4        |
      | 3g.20gb | 2     | 3        |
      | 7g.40gb | 1     | 2        |
