@reports @extended-resources
Feature: Public reports on extended resources of classes
  What was reported, played against the real control plane and driver, before a device plugin has been on the node.

  @kubernetes-141290 @needs:DRADeviceTaintRules @needs:kubernetes-1.37 @needs:DRAExtendedResource
  Scenario: kubernetes 141290: a pod that got its card by the old name is evicted, too
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: gpu-by-the-old-name}
      spec:
        extendedResourceName: nvidia.com/gpu
        selectors: [{cel: {expression: 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "gpu"'}}]
      """
    When a pod asks for one "nvidia.com/gpu"
    Then pod "pod-1" runs
    And pod "pod-1" gets "gpu-0"
    Given this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: DeviceTaintRule
      metadata: {name: drain}
      spec:
        deviceSelector: {driver: gpu.nvidia.com, pool: node-1, device: gpu-0}
        taint: {key: example.com/drain, effect: NoExecute}
      """
    Then pod "pod-1" is evicted within 20 seconds

  @kubernetes-141103 @expected-fail:kubernetes-141103 @needs:DRAExtendedResource
  Scenario: kubernetes 141103: when one of two classes of the same name goes, the other one gives it
    # A name of its own: the scheduler has lost it until it is started anew.
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: first-by-the-old-name}
      spec:
        extendedResourceName: example.com/card
        selectors: [{cel: {expression: 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "gpu"'}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: second-by-the-old-name}
      spec:
        extendedResourceName: example.com/card
        selectors: [{cel: {expression: 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "gpu"'}}]
      """
    When the DeviceClass "second-by-the-old-name" is deleted
    And a pod asks for one "example.com/card"
    Then pod "pod-1" runs within 15 seconds
    And pod "pod-1" gets "gpu-0"

  @kubernetes-134210 @needs:DRAExtendedResource
  Scenario: kubernetes 134210: a quota on the old name counts before the scheduler does
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: gpu-by-the-old-name}
      spec:
        extendedResourceName: nvidia.com/gpu
        selectors: [{cel: {expression: 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "gpu"'}}]
      ---
      apiVersion: v1
      kind: ResourceQuota
      metadata: {name: one-card}
      spec:
        hard: {requests.nvidia.com/gpu: 1}
      """
    When this manifest is tried:
      """
      apiVersion: v1
      kind: Pod
      metadata: {name: two}
      spec:
        restartPolicy: Never
        automountServiceAccountToken: false
        containers:
        - name: main
          image: sliceproof.local/gpu-test:1
          imagePullPolicy: Never
          resources: {limits: {nvidia.com/gpu: 2}}
      """
    Then the API server refuses it, saying "exceeded quota"
