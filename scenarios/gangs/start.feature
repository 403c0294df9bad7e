@gangs @gates:GenericWorkload @gates:DRAPartitionableDevices
Feature: A gang starts whole or not at all
  A training run on three partitions is of no use on two. The Workload API lets the scheduler place all pods of a gang at
  once; as long as it cannot, none of them has a node and none of their claims a device.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode

  Scenario: a gang that fits starts whole
    When gang "train" of 2 pods comes, each claiming one "3g.20gb"
    Then gang "train" runs
    And 2 pods run, each on a partition of its own
    And each running pod sees 1 GPU and 1 MIG device
    And claims, counters and the card agree
    And no partition is held by a gang that does not run

  @needs:kubernetes-1.36
  Scenario: a gang of three where two have room holds nothing, and is in nobody's way
    When gang "train" of 3 pods comes, each claiming one "3g.20gb"
    Then gang "train" waits
    And gang "train" still waits after 5 seconds
    And no partition is held by a gang that does not run
    When pod "single" claims:
      """
      requests:
      - name: gpu
        exactly:
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "7g.40gb"'}}]
      """
    Then pod "single" runs
    And claims, counters and the card agree

  @needs:kubernetes-1.37
  Scenario: the group says how many of its pods found a place
    When gang "train" of 3 pods comes, each claiming one "3g.20gb"
    Then gang "train" waits, and the scheduler says it "minCount (3) cannot be satisfied: 2 scheduled"

  Scenario: it starts whole when whoever was in its way ends
    When pod "first" claims:
      """
      requests:
      - name: gpu
        exactly:
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "7g.40gb"'}}]
      """
    Then pod "first" runs
    When gang "train" of 2 pods comes, each claiming one "3g.20gb"
    Then gang "train" waits
    And no partition is held by a gang that does not run
    When pod "first" ends
    Then gang "train" runs
    And claims, counters and the card agree

  Scenario: more pods than must start at once: the rest follows when there is room
    When gang "train" of 4 pods comes, at least 3 at once, each claiming one "2g.10gb"
    Then 3 pods of gang "train" run and 1 waits
    And no partition is held by a gang that does not run
    When a running pod of gang "train" is lost
    Then gang "train" runs
    And claims, counters and the card agree

  Scenario: it is not looked at before all its pods are there
    When gang "train" is announced for 3 pods
    And 2 pods of gang "train" come, each claiming one "1g.5gb"
    Then gang "train" still waits after 5 seconds
    When 1 pod of gang "train" comes, each claiming one "1g.5gb"
    Then gang "train" runs
    And no partition is held by a gang that does not run

  Scenario: pods that come before their gang wait for it
    When 2 pods of gang "train" come, each claiming one "1g.5gb"
    And gang "train" is announced for 2 pods
    Then gang "train" runs

  Scenario: a gang without pods is nothing, and harms nobody
    When gang "ghost" is announced for 3 pods
    And gang "train" of 2 pods comes, each claiming one "3g.20gb"
    Then gang "train" runs
    And gang "ghost" has no pod, and holds nothing
    And no partition is held by a gang that does not run
