@queues @needs:kubernetes-1.36 @needs:DRAPartitionableDevices
Feature: What Kueue does not take, and what it says
  A claim that the scheduler would allocate without more ado may be one that Kueue cannot charge. Each is refused with a reason
  that stands in the Workload, and nowhere else.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    And Kueue charges:
      | resource   | class          | by             |
      | gpu.memory | mig.nvidia.com | counter memory |
    And queue "team" holds:
      | resource   | quota   |
      | gpu.memory | 40320Mi |

  Scenario: a prioritised list
    When job "list" in queue "team" claims:
      """
      requests:
      - name: gpu
        firstAvailable:
        - {name: a, deviceClassName: mig.nvidia.com}
        - {name: b, deviceClassName: gpu.nvidia.com}
      """
    Then job "list" waits, and Kueue says "FirstAvailable device selection is not supported"

  Scenario: all devices that match
    When job "all" in queue "team" claims:
      """
      requests:
      - name: gpu
        exactly: {deviceClassName: mig.nvidia.com, allocationMode: All}
      """
    Then job "all" waits, and Kueue says "AllocationMode 'All' is not supported"

  Scenario: admin access
    Given this manifest is applied:
      """
      apiVersion: v1
      kind: Namespace
      metadata:
        name: own
        labels: {resource.kubernetes.io/admin-access: "true"}
      """
    When job "monitor" in queue "team" claims:
      """
      requests:
      - name: gpu
        exactly: {deviceClassName: mig.nvidia.com, adminAccess: true}
      """
    Then job "monitor" waits, and Kueue says "AdminAccess is not supported"

  Scenario: a claim that was there before
    Given this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: shared}
      spec:
        devices:
          requests:
          - name: gpu
            exactly: {deviceClassName: mig.nvidia.com}
      """
    When job "direct" in queue "team" uses claim "shared"
    Then job "direct" waits, and Kueue says "does not support use of resource claims"

  Scenario: a class that nothing maps
    When job "card" of 1 pod in queue "team" asks for one of class "gpu.nvidia.com" each
    Then job "card" waits, and Kueue says "DeviceClass gpu.nvidia.com is not mapped in DRA configuration"

  Scenario: a class that does not exist
    When job "ghost" of 1 pod in queue "team" asks for one of class "ghost.nvidia.com" each
    Then job "ghost" waits, and Kueue says "DeviceClass ghost.nvidia.com is not mapped in DRA configuration"

  Scenario: an extended resource whose class is charged by a counter
    Given a DeviceClass for each MIG profile of "A100-SXM4-40GB"
    And Kueue runs with:
      """
      resources:
        deviceClassMappings:
        - name: small.memory
          deviceClassNames: [mig-1g.5gb]
          sources:
          - counter:
              name: memory
              driver: gpu.nvidia.com
              deviceSelector: {cel: {expression: "device.driver == 'gpu.nvidia.com'"}}
      """
    When job "plain" of 1 pod in queue "team" asks for one of resource "nvidia.com/mig-1g.5gb" each
    Then job "plain" waits, and Kueue says "use ResourceClaimTemplates with CEL selectors"

  Scenario: a selector that no device meets
    When job "none" in queue "team" claims:
      """
      requests:
      - name: gpu
        exactly:
          deviceClassName: mig.nvidia.com
          selectors:
          - cel: {expression: "device.attributes['gpu.nvidia.com'].profile == '9g.5gb'"}
      """
    Then job "none" waits, and Kueue says "insufficient matching devices for CEL selector"

  Scenario: constraints and the driver's parameters are taken, and change no charge
    When job "pair" in queue "team" claims:
      """
      requests:
      - name: gpu
        exactly:
          deviceClassName: mig.nvidia.com
          count: 2
          selectors:
          - cel: {expression: "device.attributes['gpu.nvidia.com'].profile == '1g.5gb'"}
      constraints:
      - {matchAttribute: gpu.nvidia.com/parentUUID}
      config:
      - opaque:
          driver: gpu.nvidia.com
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: MigDeviceConfig}
      """
    Then job "pair" runs
    And Kueue charges job "pair" "9728Mi" of "gpu.memory"
    And each job is charged what its devices consume
