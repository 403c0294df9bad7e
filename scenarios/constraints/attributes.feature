@constraints @needs:DRAPartitionableDevices
Feature: Devices that belong together, and devices that must not
  A claim for several devices may ask that an attribute be the same on all of them, or different on each. For GPUs that
  is the card from which partitions are cut and the PCIe root under which cards sit.

  @smoke @needs:DRAConsumableCapacity
  Scenario: partitions of one card, or of two, as the claim says
    Given a node with 2 "A100-SXM4-40GB" in MIG mode
    When pod "together" claims:
      """
      requests:
      - name: gpu
        exactly:
          deviceClassName: mig.nvidia.com
          count: 2
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "3g.20gb"'}}]
      constraints:
      - matchAttribute: gpu.nvidia.com/parentUUID
      """
    Then pod "together" runs
    And pod "together" gets "gpu-0-mig-3g20gb-9-0, gpu-0-mig-3g20gb-9-4"
    When pod "together" ends
    And pod "apart" claims:
      """
      requests:
      - name: gpu
        exactly:
          deviceClassName: mig.nvidia.com
          count: 2
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "3g.20gb"'}}]
      constraints:
      - distinctAttribute: gpu.nvidia.com/parentUUID
      """
    Then pod "apart" runs
    And pod "apart" gets "gpu-0-mig-3g20gb-9-0, gpu-1-mig-3g20gb-9-0"
    And each running pod sees 2 GPUs and 2 MIG devices
    And claims, counters and the card agree

  Scenario: what one card cannot give together waits, though two cards could give it
    Given a node with 2 "A100-SXM4-40GB" in MIG mode
    When pod "together" claims:
      """
      requests:
      - name: gpu
        exactly:
          deviceClassName: mig.nvidia.com
          count: 2
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "4g.20gb"'}}]
      constraints:
      - matchAttribute: gpu.nvidia.com/parentUUID
      """
    Then pod "together" waits, and the scheduler says it "cannot allocate all claims"
    When pod "anywhere" claims:
      """
      requests:
      - name: gpu
        exactly:
          deviceClassName: mig.nvidia.com
          count: 2
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "4g.20gb"'}}]
      """
    Then pod "anywhere" runs
    And pod "anywhere" gets "gpu-0-mig-4g20gb-5-0, gpu-1-mig-4g20gb-5-0"

  @dra-driver-nvidia-gpu-897
  Scenario: dra-driver-nvidia-gpu 897: three sizes in one claim come from one card
    Given a node with 2 "A100-SXM4-40GB" in MIG mode
    When pod "three" claims:
      """
      requests:
      - name: large
        exactly:
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "4g.20gb"'}}]
      - name: medium
        exactly:
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "2g.10gb"'}}]
      - name: small
        exactly:
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "1g.5gb"'}}]
      constraints:
      - matchAttribute: gpu.nvidia.com/parentUUID
      """
    Then pod "three" runs
    And pod "three" gets "gpu-0-mig-4g20gb-5-0, gpu-0-mig-2g10gb-14-4, gpu-0-mig-1g5gb-19-6"
    And each running pod sees 1 GPU and 3 MIG devices
    And claims, counters and the card agree

  @needs:DRAConsumableCapacity
  Scenario: each card of the node sits under a PCIe root of its own
    Given a node with 2 "A100-SXM4-40GB"
    When pod "same-root" claims:
      """
      requests:
      - name: gpu
        exactly: {deviceClassName: gpu.nvidia.com, count: 2}
      constraints:
      - matchAttribute: resource.kubernetes.io/pcieRoot
      """
    Then pod "same-root" waits, and the scheduler says it "cannot allocate all claims"
    When pod "other-roots" claims:
      """
      requests:
      - name: gpu
        exactly: {deviceClassName: gpu.nvidia.com, count: 2}
      constraints:
      - distinctAttribute: resource.kubernetes.io/pcieRoot
      """
    Then pod "other-roots" runs
    And pod "other-roots" gets "gpu-0, gpu-1"

  Scenario: an attribute that no device has is never the same
    Given a node with 2 "A100-SXM4-40GB"
    When pod "aligned" claims:
      """
      requests:
      - name: gpu
        exactly: {deviceClassName: gpu.nvidia.com, count: 2}
      constraints:
      - matchAttribute: resource.kubernetes.io/numaNode
      """
    Then pod "aligned" waits, and the scheduler says it "cannot allocate all claims"
