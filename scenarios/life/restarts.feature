@life @needs:DRAPartitionableDevices
Feature: Drivers and kubelets that die and come back
  A pod with a partition goes on while the programs around it restart, and what ends in between is cleaned up: on the
  card, in the driver's checkpoint, in the CDI files and among the claims.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode

  Scenario: a pod outlives a restart of the driver, and its end is cleaned up by the new one
    When a pod claims one "3g.20gb"
    Then 1 pod runs, each on a partition of its own
    When the driver on the node is restarted
    Then pod "pod-1" keeps running for 2 seconds
    And claims, counters and the card agree
    When a pod claims one "2g.10gb"
    Then 2 pods run, each on a partition of its own
    And claims, counters and the card agree
    When all pods end
    Then nothing is left behind on the node

  @kubernetes-141912 @kubernetes-128696
  Scenario: kubernetes 141912, 128696: a pod that comes while the driver is dead runs when it is back
    When a pod claims one "1g.5gb"
    Then 1 pod runs, each on a partition of its own
    When the driver on the node is killed
    And a pod claims one "1g.5gb"
    Then pod "pod-1" keeps running for 3 seconds
    When the driver on the node starts again
    Then pod "pod-2" runs within 60 seconds
    And claims, counters and the card agree
    When all pods end
    Then nothing is left behind on the node

  @kubernetes-129402
  Scenario: kubernetes 129402: a pod that ends while the driver is dead is gone when it is back
    When a pod claims one "1g.5gb"
    Then 1 pod runs, each on a partition of its own
    When the driver on the node is killed
    And pod "pod-1" is asked to end
    And the driver on the node starts again
    Then pod "pod-1" is gone within 90 seconds
    And nothing is left behind on the node

  @dra-driver-nvidia-gpu-330
  Scenario: dra-driver-nvidia-gpu 330: a pod outlives a restart of the kubelet, and its allocation with it
    When a pod claims one "3g.20gb"
    Then 1 pod runs, each on a partition of its own
    When the kubelet on the node is restarted
    Then pod "pod-1" keeps running for 3 seconds
    When a pod claims one "2g.10gb"
    Then pod "pod-2" runs within 90 seconds
    And 2 pods run, each on a partition of its own
    And claims, counters and the card agree
    When all pods end
    Then nothing is left behind on the node
