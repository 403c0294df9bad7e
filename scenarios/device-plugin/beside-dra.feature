@device-plugin
Feature: The DRA driver on one node and the device plugin on another
  A cluster that moves to DRA has both for a while, each on nodes of its own. Each card is offered by one of them, a pod
  of either kind finds the cards of its kind, and no card is given twice.

  Background:
    Given these nodes:
      | node   | cards | model          | MIG | offered by    |
      | node-1 | 2     | A100-SXM4-40GB | off | DRA driver    |
      | node-2 | 1     | A100-SXM4-40GB | off | device plugin |
    Then node "node-2" offers "1" of "nvidia.com/gpu"

  @smoke
  Scenario: claims go to the one node and requests of the old kind to the other
    When a pod claims a whole card
    And a pod claims a whole card
    And a pod claims a whole card
    Then 2 pods run
    And 1 pod waits, and the scheduler says it "cannot allocate all claims"
    When a pod asks for one "nvidia.com/gpu"
    Then pod "pod-4" is bound to "node-2"
    And 3 pods run
    And each running pod sees 1 GPU and no MIG device
    When a running pod ends
    Then the waiting pod runs within 30 seconds
    And 3 pods run
    And each running pod sees 1 GPU and no MIG device

  @needs:DRAExtendedResource
  Scenario: requests of the old kind take the cards of both nodes, each once
    # The driver's own class has this name too; with a class of ours it holds also where another class has lost it before
    # (kubernetes 141103).
    Given this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: gpu-by-the-old-name}
      spec:
        extendedResourceName: nvidia.com/gpu
        selectors: [{cel: {expression: 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "gpu"'}}]
      """
    When 4 pods each ask for one "nvidia.com/gpu"
    Then 3 pods run
    And 1 pod waits, and the scheduler says it "Insufficient nvidia.com/gpu"
    And each running pod sees 1 GPU and no MIG device
    When a pod claims a whole card
    Then 3 pods run
    And 2 pods wait, and the scheduler says it "0/2 nodes are available"
