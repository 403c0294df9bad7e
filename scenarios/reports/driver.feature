@reports @needs:DRAPartitionableDevices
Feature: Public reports on the NVIDIA driver and the node
  What was reported of the driver and of kubelets, played against driver 0.4.1 on fake cards.

  @dra-driver-nvidia-gpu-932
  Scenario: dra-driver-nvidia-gpu 932: small partitions fill one card before the next is touched
    Given a node with 2 "A100-SXM4-40GB" in MIG mode
    When 7 pods each claim one "1g.5gb"
    Then 7 pods run, each on a partition of its own
    And claims, counters and the card agree
    When a pod claims one "7g.40gb"
    Then 8 pods run, each on a partition of its own

  @dra-driver-nvidia-gpu-933
  Scenario: dra-driver-nvidia-gpu 933: room in pieces is no room, and nothing is given twice
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    When pods claim these partitions, one after another:
      | profile |
      | 1g.5gb  |
      | 1g.5gb  |
      | 1g.5gb  |
      | 1g.5gb  |
      | 1g.5gb  |
      | 1g.5gb  |
      | 1g.5gb  |
    Then 7 pods run, each on a partition of its own
    When pod "pod-1" ends
    And pod "pod-3" ends
    And pod "pod-5" ends
    And pod "pod-7" ends
    And a pod claims one "3g.20gb"
    Then pod "pod-8" waits, and the scheduler says it "cannot allocate all claims"
    And claims, counters and the card agree

  @dra-driver-nvidia-gpu-883
  Scenario: dra-driver-nvidia-gpu 883: an Ampere card keeps its MIG mode when the driver restarts
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    When the driver on the node is restarted
    Then the node offers partitions of 1 card and no whole card
    When a pod claims one "1g.5gb"
    Then 1 pod runs, each on a partition of its own
    And claims, counters and the card agree

  @dra-driver-nvidia-gpu-365
  Scenario: dra-driver-nvidia-gpu 365: a pod that is deleted by force leaves nothing
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    When pod "gone" claims:
      """
      requests:
      - name: gpu
        exactly:
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "3g.20gb"'}}]
      """
    Then pod "gone" runs
    When pod "gone" is deleted by force
    Then nothing is left behind on the node

  @kubernetes-141471
  Scenario: kubernetes 141471: after a deletion by force the next pod gets the card in the end, and it is given once
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    When a pod claims one "7g.40gb"
    Then pod "pod-1" runs
    When pod "pod-1" is deleted by force
    And a pod claims one "7g.40gb"
    Then pod "pod-2" runs within 60 seconds
    And each running pod sees 1 GPU and 1 MIG device
    And claims, counters and the card agree

  @dra-driver-nvidia-gpu-1278
  Scenario: dra-driver-nvidia-gpu 1278: as long as the kubelet lives, what was prepared is cleaned up, although its pod went while the driver was dead
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    When a pod claims one "7g.40gb"
    Then pod "pod-1" runs
    When the driver on the node is killed
    And pod "pod-1" is deleted by force
    And the driver on the node starts again
    Then nothing is left behind on the node
