@constraints @hand-written-slices
Feature: NUMA nodes and PCIe roots across drivers
  The driver 0.4.1 publishes no NUMA node, so these devices are hand-written ResourceSlices with no driver behind them:
  the claims are allocated as they would be, and no pod can run on them.

  Background:
    Given a node with 1 "A100-SXM4-40GB"
    And the manifest "numa.yaml" is applied

  Scenario: a card and a network device on the same NUMA node
    When this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: aligned}
      spec:
        devices:
          requests:
          - name: gpu
            exactly: {deviceClassName: numa-gpu}
          - name: nic
            exactly: {deviceClassName: numa-nic}
          constraints:
          - matchAttribute: resource.kubernetes.io/numaNode
      """
    And pod "user" uses claim "aligned"
    Then claim "aligned" gets "gpu-1, nic-1"
    And pod "user" is bound to "node-1"

  Scenario: two cards on two NUMA nodes
    When this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: spread}
      spec:
        devices:
          requests:
          - name: gpu
            exactly: {deviceClassName: numa-gpu, count: 2}
          constraints:
          - matchAttribute: resource.kubernetes.io/numaNode
      """
    And pod "user" uses claim "spread"
    Then claim "spread" is not allocated, and the scheduler says it "cannot allocate all claims"
