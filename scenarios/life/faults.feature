@life @needs:DRAPartitionableDevices
Feature: Cards that somebody else cuts, and calls that go wrong
  The driver is not alone with its cards: an administrator may cut one by hand, and NVML may refuse what it granted a
  moment before. A pod waits then, heals when it can, and nothing is left.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode

  @dra-driver-nvidia-gpu-35 @expected-fail:dra-driver-nvidia-gpu-1452
  Scenario: dra-driver-nvidia-gpu 35: a place that somebody has taken is an error that heals when it is free
    When somebody on the node cuts "7g.40gb" with nvidia-smi
    And a pod claims one "1g.5gb"
    Then the kubelet says of pod "pod-1" within 60 seconds: "prepare"
    When somebody on the node removes all partitions with nvidia-smi
    Then pod "pod-1" runs within 20 seconds
    And claims, counters and the card agree
    When all pods end
    Then nothing is left behind on the node

  @dra-driver-nvidia-gpu-149
  Scenario: dra-driver-nvidia-gpu 149: partitions of nobody do not keep the driver from its start, and it removes them
    When somebody on the node cuts "3g.20gb" with nvidia-smi
    And the driver on the node is restarted
    Then the card is whole again
    When a pod claims one "7g.40gb"
    Then 1 pod runs, each on a partition of its own
    And claims, counters and the card agree

  @dra-driver-nvidia-gpu-1452 @expected-fail:dra-driver-nvidia-gpu-1452
  Scenario: dra-driver-nvidia-gpu 1452: a compute instance that is refused once is made at the second try
    Given calls of NVML on the node go wrong:
      """
      format: 1
      calls:
      - {function: "nvmlGpuInstanceCreateComputeInstance*", nth: 1, error: INSUFFICIENT_RESOURCES}
      """
    When a pod claims one "7g.40gb"
    Then pod "pod-1" runs within 20 seconds
    And claims, counters and the card agree
