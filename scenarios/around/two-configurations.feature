@around @needs:DRAPartitionableDevices
Feature: Two configurations of the driver in one cluster
  A driver is rolled out node by node, and its feature gates are of a node. Until all have the same, a claim finds its device where
  the driver offers it.

  Scenario: one node cuts its card on demand and the other does not
    Given these nodes, each driver with feature gates of its own:
      | node   | cards | model          | MIG | gates            |
      | node-1 | 1     | A100-SXM4-40GB | on  | DynamicMIG=true  |
      | node-2 | 1     | A100-SXM4-40GB | off | DynamicMIG=false |
    When a pod claims one "3g.20gb"
    And a pod claims a whole card
    Then 2 pods run
    And pod "pod-1" is bound to "node-1"
    And pod "pod-2" is bound to "node-2"
    And claims, counters and the card agree
    When a pod claims a whole card
    And a pod claims one "3g.20gb"
    Then pod "pod-4" runs
    And pod "pod-4" is bound to "node-1"
    And 1 pod waits, and the scheduler says it "cannot allocate all claims"
    When pod "pod-2" ends
    Then pod "pod-3" runs within 30 seconds
    And claims, counters and the card agree
