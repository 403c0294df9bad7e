@gangs @gates:GenericWorkload @gates:DRAPartitionableDevices
Feature: Claims that a gang shares
  Pods of a gang can use one claim together: a ResourceClaim that is there already, or one that is made for their group.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode

  @kubernetes-137617 @needs:kubernetes-1.36
  Scenario: a gang on one claim holds one partition
    When gang "train" of 3 pods comes, sharing one "3g.20gb"
    Then gang "train" runs
    And all pods of gang "train" use one claim, and it holds 1 device
    And claims, counters and the card agree
    And no partition is held by a gang that does not run

  @gates:DRAWorkloadResourceClaims
  Scenario: a claim of the group is made once, for the group
    When gang "train" of 3 pods comes, with a claim of the group for one "3g.20gb"
    Then gang "train" runs
    And all pods of gang "train" use one claim, and it holds 1 device
    And claims, counters and the card agree
    When gang "train" ends
    And a pod claims one "7g.40gb"
    Then 1 pod runs

  @gates:DRAWorkloadResourceClaims
  Scenario: a claim of a group that cannot start is not allocated
    When pod "first" claims:
      """
      requests:
      - name: gpu
        exactly:
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "7g.40gb"'}}]
      """
    Then pod "first" runs
    When gang "train" of 3 pods comes, with a claim of the group for one "3g.20gb"
    Then gang "train" waits
    And no partition is held by a gang that does not run
    When pod "first" ends
    Then gang "train" runs
    And all pods of gang "train" use one claim, and it holds 1 device

  @gates:DRAWorkloadResourceClaims
  Scenario: as long as one pod of the gang is left the group keeps its device
    When gang "train" of 2 pods comes, with a claim of the group for one "3g.20gb"
    Then gang "train" runs
    When a running pod of gang "train" is lost
    Then gang "train" holds 1 device without running
    When gang "train" ends
    And a pod claims one "7g.40gb"
    Then 1 pod runs
