@reports
Feature: Public reports on taints, extended resources and quotas
  What was reported, played against the real control plane and, where pods run, the real driver.

  @kubernetes-141620 @needs:DRADeviceTaintRules @needs:kubernetes-1.37
  Scenario: kubernetes 141620: a rule without a selector taints nothing
    Given a node with 2 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: DeviceTaintRule
      metadata: {name: nothing}
      spec:
        taint: {key: example.com/nothing, effect: NoSchedule}
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceTaintRule
      metadata: {name: seen-after-it}
      spec:
        deviceSelector: {driver: gpu.nvidia.com, pool: node-1, device: gpu-0}
        taint: {key: example.com/maintenance, effect: NoSchedule}
      """
    When a pod claims a whole card
    Then pod "pod-1" runs
    And pod "pod-1" gets "gpu-1"

  @kubernetes-141422 @needs:DRADeviceTaintRules @needs:kubernetes-1.37
  Scenario: kubernetes 141422: a rule with an empty selector taints everything, as is specified
    Given a node with 1 "A100-SXM4-40GB"
    When a pod claims a whole card
    Then pod "pod-1" runs
    Given this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: DeviceTaintRule
      metadata: {name: everything}
      spec:
        deviceSelector: {}
        taint: {key: example.com/everything, effect: NoExecute}
      """
    Then pod "pod-1" is evicted within 20 seconds

  @kubernetes-130447 @needs:DRAAdminAccess @needs:DRADeviceTaints @needs:DRADeviceTaintRules @needs:kubernetes-1.37
  Scenario: kubernetes 130447: admin access to all does not look past a taint
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: v1
      kind: Namespace
      metadata: {name: own, labels: {resource.kubernetes.io/admin-access: "true"}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceTaintRule
      metadata: {name: drain}
      spec:
        deviceSelector: {driver: gpu.nvidia.com, pool: node-1, device: gpu-0}
        taint: {key: example.com/drain, effect: NoSchedule}
      """
    When pod "monitor" claims:
      """
      requests:
      - name: gpu
        exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All, adminAccess: true}
      """
    Then pod "monitor" waits, and the scheduler says it "cannot allocate all claims"

  @kubernetes-141426 @expected-fail:kubernetes-141426 @needs:DRAExtendedResource
  Scenario: kubernetes 141426: a name that a device plugin has offered once can be offered by a class later
    Given a node with 1 "A100-SXM4-40GB" and the device plugin with MIG strategy "none"
    Then the node's allocatable GPU resources are:
      | resource       | count |
      | nvidia.com/gpu | 1     |
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
