@constraints @gates:DRADerivedAttributes @needs:DRADerivedAttributes
Feature: Attributes that a claim computes itself
  What devices are to have in common need not be an attribute of theirs: a claim computes it by an expression of each
  device, and constrains that.

  Scenario: two cards of one half of the node, which none of their attributes says
    Given a node with 4 "A100-SXM4-40GB"
    When a pod claims a whole card
    Then pod "pod-1" gets "gpu-0"
    When pod "pair" claims:
      """
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.nvidia.com
          count: 2
          derivedAttributes:
          - name: derived/half
            expression: 'device.attributes["resource.kubernetes.io"].pciBusID < "0000:10"'
      constraints:
      - matchAttribute: derived/half
      """
    Then pod "pair" runs
    And pod "pair" gets "gpu-2, gpu-3"
    When pod "another-pair" claims:
      """
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.nvidia.com
          count: 2
          derivedAttributes:
          - name: derived/half
            expression: 'device.attributes["resource.kubernetes.io"].pciBusID < "0000:10"'
      constraints:
      - matchAttribute: derived/half
      """
    Then pod "another-pair" waits, and the scheduler says it "cannot allocate all claims"

  @needs:DRAPartitionableDevices
  Scenario: partitions of as much memory, whatever their profiles
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    When pod "even" claims:
      """
      requests:
      - name: some
        exactly:
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile in ["1g.10gb", "1g.5gb"]'}}]
          derivedAttributes:
          - name: derived/memory
            expression: 'device.capacity["gpu.nvidia.com"].memory.asInteger()'
      - name: small
        exactly:
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "1g.5gb"'}}]
          derivedAttributes:
          - name: derived/memory
            expression: 'device.capacity["gpu.nvidia.com"].memory.asInteger()'
      constraints:
      - matchAttribute: derived/memory
      """
    Then pod "even" runs
    And pod "even" gets "gpu-0-mig-1g5gb-19-0, gpu-0-mig-1g5gb-19-1"
    And claims, counters and the card agree

  Scenario: an expression that fails on a device ends the attempt
    Given a node with 2 "A100-SXM4-40GB"
    When pod "pair" claims:
      """
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.nvidia.com
          count: 2
          derivedAttributes:
          - name: derived/rack
            expression: 'device.attributes["gpu.nvidia.com"].rack'
      constraints:
      - matchAttribute: derived/rack
      """
    Then pod "pair" waits, and the scheduler says it "no such key: rack"
