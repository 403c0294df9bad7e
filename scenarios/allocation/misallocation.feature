@allocation @misallocation @needs:DRAPartitionableDevices
Feature: Misallocation
  The first match is not the best one: a claim gets what is published first, however much smaller something behind it is.
  Where the driver publishes from smallest to largest nobody gets more than is needed. It publishes by name, and by name
  1g.10gb comes before 1g.5gb: on an A100 of 40 GB a claim for any partition costs twice the memory that it needs.

  Scenario: among partitions of one profile the first is as good as any
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    When pods claim these partitions, one after another:
      | profile |
      | 1g.5gb  |
      | 2g.10gb |
      | 1g.5gb  |
    Then 3 pods run, each on a partition of its own
    And no claim got more than the smallest device that fits

  Scenario: on an A30 the names of profiles rise with their size, and a wide class gets the smallest
    Given a node with 1 "A30-PCIE-24GB" in MIG mode
    When 3 pods, one after another, each claim any device of class "mig.nvidia.com"
    Then 3 pods run, each on a partition of its own
    And no claim got more than the smallest device that fits

  Scenario: on an A100 of 40 GB a wide class gets partitions with twice the memory of the smallest
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    When 3 pods, one after another, each claim any device of class "mig.nvidia.com"
    Then 3 pods run, each on a partition of its own
    And each pod has got the first device, in published order, that was free when it came
    And the claims together got 3 memory slices more than the smallest devices that fit, and no compute slice more
