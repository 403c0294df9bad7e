@admin-access @needs:DRAAdminAccess
Feature: Admin access: looking on without taking
  A monitor may ask for devices that others hold, where an administrator has labelled its namespace. It takes nothing
  from anybody; without the label the API server refuses the claim.

  @smoke
  Scenario: a monitor sees the card that a pod holds, and the card stays that pod's
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: v1
      kind: Namespace
      metadata:
        name: monitoring
        labels: {resource.kubernetes.io/admin-access: "true"}
      """
    When pod "user" claims:
      """
      requests:
      - name: gpu
        exactly: {deviceClassName: gpu.nvidia.com}
      """
    Then pod "user" runs
    And pod "user" gets "gpu-0"
    When pod "monitor" claims:
      """
      requests:
      - name: gpu
        exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All, adminAccess: true}
      """
    Then pod "monitor" runs
    And pod "monitor" gets "gpu-0"
    And claims, counters and the card agree
    When a pod claims a whole card
    Then 1 pod waits, and the scheduler says it "cannot allocate all claims"

  Scenario: a monitor keeps nobody from the card
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: v1
      kind: Namespace
      metadata:
        name: monitoring
        labels: {resource.kubernetes.io/admin-access: "true"}
      """
    When pod "monitor" claims:
      """
      requests:
      - name: gpu
        exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All, adminAccess: true}
      """
    Then pod "monitor" runs
    When pod "user" claims:
      """
      requests:
      - name: gpu
        exactly: {deviceClassName: gpu.nvidia.com}
      """
    Then pod "user" runs
    And pod "user" gets "gpu-0"

  Scenario: without the label of its namespace a claim for admin access is refused
    Given a node with 1 "A100-SXM4-40GB"
    When this manifest is tried:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: monitor}
      spec:
        devices:
          requests:
          - name: gpu
            exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All, adminAccess: true}
      """
    Then the API server refuses it, saying "admin access to devices requires"
