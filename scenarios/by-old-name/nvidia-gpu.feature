@extended-resources @needs:DRAExtendedResource
Feature: Pods of the old kind on DRA nodes
  A pod that asks for `nvidia.com/gpu: 1` needs no change: a DeviceClass says that its devices go by that name too, and
  the scheduler makes the claim. Played before the device plugin's features: a kubelet that has once seen
  a device plugin offer the resource refuses such pods (kubernetes 141426).

  @smoke
  Scenario: a pod that asks for nvidia.com/gpu gets a card from the DRA driver
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: gpu-by-the-old-name}
      spec:
        extendedResourceName: nvidia.com/gpu
        selectors:
        - cel: {expression: 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "gpu"'}
      """
    When a pod asks for one "nvidia.com/gpu"
    Then pod "pod-1" runs
    And pod "pod-1" gets "gpu-0"
    And each running pod sees 1 GPU and no MIG device
    When a pod asks for one "nvidia.com/gpu"
    Then pod "pod-2" waits, and the scheduler says it "cannot allocate all claims"
    When pod "pod-1" ends
    Then pod "pod-2" runs within 30 seconds
    And pod "pod-2" gets "gpu-0"

  @kubernetes-133363
  Scenario: kubernetes 133363: the implicit name of a class works beside the explicit one
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: gpu-by-two-names}
      spec:
        extendedResourceName: nvidia.com/gpu
        selectors:
        - cel: {expression: 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "gpu"'}
      """
    When a pod asks for one "deviceclass.resource.kubernetes.io/gpu-by-two-names"
    Then pod "pod-1" runs
    And pod "pod-1" gets "gpu-0"
    And each running pod sees 1 GPU and no MIG device
