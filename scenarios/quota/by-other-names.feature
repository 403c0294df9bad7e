@quota @extended-resources @needs:DRAExtendedResource @needs:kubernetes-1.35
Feature: A quota of devices that go by other names
  A class may stand for an extended resource, and every class is one. A quota on either counts what pods ask for by that name
  when the pod is made, and what claims request of the class; the claim that the scheduler makes for a pod is not charged again
  under the name by which the pod has paid.

  Background:
    Given a node with 2 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: gpu-by-name}
      spec:
        extendedResourceName: example.com/gpu
        selectors:
        - cel: {expression: 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "gpu"'}
      ---
      apiVersion: v1
      kind: ResourceQuota
      metadata: {name: gpus}
      spec:
        hard:
          requests.example.com/gpu: "2"
          requests.deviceclass.resource.kubernetes.io/gpu-by-name: "2"
          gpu-by-name.deviceclass.resource.k8s.io/devices: "2"
      """

  Scenario: a pod that asks by name pays by name, and its claim pays under the other names
    Then quota "gpus" counts "0" of "requests.example.com/gpu"
    When a pod asks for one "example.com/gpu"
    Then pod "pod-1" runs
    And quota "gpus" counts "1" of "requests.example.com/gpu"
    And quota "gpus" counts "1" of "requests.deviceclass.resource.kubernetes.io/gpu-by-name"
    And quota "gpus" counts "1" of "gpu-by-name.deviceclass.resource.k8s.io/devices"
    And quotas and claims agree
    When a pod asks for one "deviceclass.resource.kubernetes.io/gpu-by-name"
    Then pod "pod-2" runs
    And quota "gpus" counts "2" of "requests.example.com/gpu"
    And quota "gpus" counts "2" of "requests.deviceclass.resource.kubernetes.io/gpu-by-name"
    And quotas and claims agree
    When all pods end
    Then quota "gpus" counts "0" of "requests.example.com/gpu"
    And quota "gpus" counts "0" of "gpu-by-name.deviceclass.resource.k8s.io/devices"

  Scenario: a claim of the class pays under all names, and then no pod may ask for more by name
    Then quota "gpus" counts "0" of "requests.example.com/gpu"
    Given this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: two}
      spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu-by-name, count: 2}}]}}
      """
    Then quota "gpus" counts "2" of "requests.example.com/gpu"
    When this manifest is tried:
      """
      apiVersion: v1
      kind: Pod
      metadata: {name: third}
      spec:
        containers: [{name: main, image: "sliceproof.local/gpu-test:1", resources: {limits: {example.com/gpu: "1"}}}]
      """
    Then the API server refuses it, saying "exceeded quota: gpus, requested: requests.example.com/gpu=1, used: requests.example.com/gpu=2, limited: requests.example.com/gpu=2"
    And quotas and claims agree
    When the ResourceClaim "two" is deleted
    Then quota "gpus" counts "0" of "requests.example.com/gpu"
