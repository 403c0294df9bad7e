@prioritized-list @needs:DRAPrioritizedList @needs:DRAPartitionableDevices
Feature: A list of wishes, the first that can be had
  A request may name several kinds of device in the order of preference. The allocator takes the first that can be had
  now, and the configuration of that one wish alone goes to the driver.

  @smoke
  Scenario: the second wish is granted when the first is gone, and the first again when it is free
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    When pod "first" claims:
      """
      requests:
      - name: gpu
        firstAvailable:
        - name: large
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "4g.20gb"'}}]
        - name: small
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "1g.5gb"'}}]
      """
    Then pod "first" runs
    And pod "first" gets "gpu-0-mig-4g20gb-5-0"
    When pod "second" claims:
      """
      requests:
      - name: gpu
        firstAvailable:
        - name: large
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "4g.20gb"'}}]
        - name: small
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "1g.5gb"'}}]
      """
    Then pod "second" runs
    And pod "second" gets "gpu-0-mig-1g5gb-19-4"
    And each running pod sees 1 GPU and 1 MIG device
    And claims, counters and the card agree
    When pod "first" ends
    And pod "third" claims:
      """
      requests:
      - name: gpu
        firstAvailable:
        - name: large
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "4g.20gb"'}}]
        - name: small
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "1g.5gb"'}}]
      """
    Then pod "third" runs
    And pod "third" gets "gpu-0-mig-4g20gb-5-0"

  Scenario: a list of which nothing can be had makes its pod wait
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    When a pod claims one "7g.40gb"
    Then 1 pod runs
    When pod "late" claims:
      """
      requests:
      - name: gpu
        firstAvailable:
        - name: large
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "4g.20gb"'}}]
        - name: small
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "1g.5gb"'}}]
      """
    Then pod "late" waits, and the scheduler says it "cannot allocate all claims"
    When a running pod ends
    Then pod "late" runs within 30 seconds
    And pod "late" gets "gpu-0-mig-4g20gb-5-0"

  Scenario: only the configuration of the granted wish goes to the driver
    Given a node with 1 "H100-SXM5-80GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: either}
      spec:
        devices:
          requests:
          - name: gpu
            firstAvailable:
            - name: whole
              deviceClassName: gpu.nvidia.com
            - name: part
              deviceClassName: mig.nvidia.com
              selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "1g.10gb"'}}]
          config:
          - requests: [gpu/whole]
            opaque:
              driver: gpu.nvidia.com
              parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig}
          - requests: [gpu/part]
            opaque:
              driver: gpu.nvidia.com
              parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: MigDeviceConfig}
      """
    When a pod claims one "3g.40gb"
    Then 1 pod runs
    When pod "wishful" uses claim "either"
    Then pod "wishful" runs
    And claim "either" carries the configuration "MigDeviceConfig"
    And claim "either" does not carry the configuration "GpuConfig"
    And claims, counters and the card agree
