@sharing @needs:DRAPartitionableDevices
Feature: Claims shared within a pod and between pods
  A claim belongs to whoever uses it: the containers of a pod, or several pods. Each sees the claim's devices and no
  other, and the devices are free when the last user is gone.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode

  @smoke
  Scenario: two claims of a pod, a container for each
    When the manifest "two-containers.yaml" is applied
    Then pod "two" runs
    And container "left" of pod "two" sees 1 GPU and 1 MIG device
    And container "right" of pod "two" sees 1 GPU and 1 MIG device
    And the containers of pod "two" see different devices
    And claims, counters and the card agree
    When pod "two" ends
    Then the card is whole again

  Scenario: two containers on one claim
    When the manifest "one-claim-two-containers.yaml" is applied
    Then pod "two" runs
    And the containers of pod "two" see the same devices
    And claims, counters and the card agree
    When pod "two" ends
    Then the card is whole again

  Scenario: two pods on one claim, and the partition stays until the second has ended
    Given this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: shared}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: mig.nvidia.com
              selectors:
              - cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "3g.20gb"'}
      """
    When pod "writer" uses claim "shared"
    And pod "reader" uses claim "shared"
    Then pods "writer, reader" run
    And each running pod sees 1 GPU and 1 MIG device
    And claims, counters and the card agree
    When pod "writer" ends
    Then pod "reader" keeps running for 3 seconds
    And claims, counters and the card agree
    When pod "reader" ends
    Then the card is whole again

  Scenario: several partitions in one claim, and a pod that uses two claims
    Given this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: one}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: mig.nvidia.com
              count: 2
              selectors:
              - cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "1g.5gb"'}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: other}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: mig.nvidia.com
              selectors:
              - cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "3g.20gb"'}
      """
    When pod "both" uses claims "one, other"
    Then pod "both" runs
    And each running pod sees 1 GPU and 3 MIG devices
    And claims, counters and the card agree

  Scenario: limits of the whole pod stand beside claims
    When the manifest "pod-level-resources.yaml" is applied
    Then pod "limited" runs
    And each running pod sees 1 GPU and 1 MIG device
    And claims, counters and the card agree
