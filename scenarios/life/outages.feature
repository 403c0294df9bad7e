@life @needs:DRAPartitionableDevices
Feature: An API server that dies
  What the node does for a pod it does by itself; what it needs of the API server it asks for again. The scheduler and
  the controllers take up to a minute until they listen to the new one.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode

  Scenario: the API server dies while a partition is made
    Given calls of NVML on the node go wrong:
      """
      format: 1
      calls:
      - {function: "nvmlDeviceCreateGpuInstance*", nth: 1, latency: 10s}
      """
    When a pod claims one "3g.20gb"
    Then the driver on the node prepares pod "pod-1" within 60 seconds
    When the API server is killed
    Then the cards of the node are cut into "3g.20gb" within 40 seconds
    When the API server starts again
    Then pod "pod-1" runs within 60 seconds
    And claims, counters and the card agree
    When a pod claims one "1g.5gb"
    Then pod "pod-2" runs within 2 minutes
    And claims, counters and the card agree
    When all pods end
    Then nothing is left behind on the node

  Scenario: the API server dies before a partition can be made, and the pod runs when it is back
    When the driver on the node is killed
    And a pod claims one "3g.20gb"
    Then pod "pod-1" is bound to "node-1"
    When the API server is killed
    And the API server starts again
    And the driver on the node starts again
    Then pod "pod-1" runs within 60 seconds
    And claims, counters and the card agree
    When a pod claims one "1g.5gb"
    Then pod "pod-2" runs within 2 minutes
    And claims, counters and the card agree
    When all pods end
    Then nothing is left behind on the node
