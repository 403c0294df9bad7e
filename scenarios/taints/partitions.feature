@taints @needs:DRADeviceTaintRules @needs:kubernetes-1.37 @needs:DRAPartitionableDevices
Feature: Taints and partitions
  A whole card and each of its partitions are devices of their own. A rule for one name taints that one; a rule for a
  pool drains every card of the node.

  Scenario: a rule for the whole card says nothing of its partitions
    Given a node with 1 "H100-SXM5-80GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: DeviceTaintRule
      metadata: {name: whole}
      spec:
        deviceSelector: {driver: gpu.nvidia.com, pool: node-1, device: gpu-0}
        taint: {key: example.com/maintenance, effect: NoExecute}
      """
    When a pod claims a whole card
    Then 1 pod waits, and the scheduler says it "cannot allocate all claims"
    When all pods end
    And a pod claims one "1g.10gb"
    Then 1 pod runs, each on a partition of its own
    And claims, counters and the card agree

  Scenario: a rule for the pool drains a card in MIG mode, and the partitions are gone
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    When 2 pods each claim one "1g.5gb"
    Then 2 pods run, each on a partition of its own
    Given this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: DeviceTaintRule
      metadata: {name: drain}
      spec:
        deviceSelector: {driver: gpu.nvidia.com, pool: node-1}
        taint: {key: example.com/drain, effect: NoExecute}
      """
    Then pod "pod-1" is evicted within 20 seconds
    And pod "pod-2" is evicted within 20 seconds
    And the card is whole again
