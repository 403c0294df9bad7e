@gangs @bad-input @gates:GenericWorkload @gates:DRAPartitionableDevices
Feature: Gangs that cannot be
  The API server refuses what no gang can be. What it takes and nobody can place harms nobody.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode

  @needs:kubernetes-1.37
  Scenario: a gang needs at least one pod
    When this manifest is tried:
      """
      apiVersion: scheduling.k8s.io/v1beta1
      kind: PodGroup
      metadata: {name: none}
      spec: {schedulingPolicy: {gang: {minCount: 0}}}
      """
    Then the API server refuses it, saying "spec.schedulingPolicy.gang.minCount"
    When this manifest is tried:
      """
      apiVersion: scheduling.k8s.io/v1beta1
      kind: PodGroup
      metadata: {name: fewer}
      spec: {schedulingPolicy: {gang: {minCount: -3}}}
      """
    Then the API server refuses it, saying "spec.schedulingPolicy.gang.minCount"
    When this manifest is tried:
      """
      apiVersion: scheduling.k8s.io/v1beta1
      kind: PodGroup
      metadata: {name: beyond}
      spec: {schedulingPolicy: {gang: {minCount: 9223372036854775808}}}
      """
    Then the API server refuses it, saying "minCount"

  @needs:kubernetes-1.37
  Scenario: a group has one policy
    When this manifest is tried:
      """
      apiVersion: scheduling.k8s.io/v1beta1
      kind: PodGroup
      metadata: {name: neither}
      spec: {schedulingPolicy: {}}
      """
    Then the API server refuses it, saying "spec.schedulingPolicy"
    When this manifest is tried:
      """
      apiVersion: scheduling.k8s.io/v1beta1
      kind: PodGroup
      metadata: {name: both}
      spec: {schedulingPolicy: {basic: {}, gang: {minCount: 1}}}
      """
    Then the API server refuses it, saying "spec.schedulingPolicy"

  Scenario: pods of a gang that nobody announces wait, and harm nobody
    When 2 pods of gang "nobody" come, each claiming one "3g.20gb"
    And gang "train" of 2 pods comes, each claiming one "3g.20gb"
    Then gang "train" runs
    And no partition is held by a gang that does not run
    And claims, counters and the card agree

  @needs:kubernetes-1.37
  Scenario: a gang of more pods than anybody makes waits for them
    When gang "train" is announced for 10000 pods
    And 2 pods of gang "train" come, each claiming one "3g.20gb"
    Then gang "train" still waits after 5 seconds
    When pod "single" claims:
      """
      requests:
      - name: gpu
        exactly:
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "7g.40gb"'}}]
      """
    Then pod "single" runs
