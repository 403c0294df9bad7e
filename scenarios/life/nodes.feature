@life @needs:DRAPartitionableDevices
Feature: Nodes that come and go
  A pool of nodes grows, shrinks and replaces its members. What the one that went has published goes with it, and the one
  that comes takes pods.

  Scenario: a node goes, and one of another name comes in its place
    Given these nodes:
      | node  | cards | model          | MIG | offered by |
      | first | 1     | A100-SXM4-40GB | on  | DRA driver |
    When a pod claims one "7g.40gb"
    Then pod "pod-1" runs
    And pod "pod-1" gets "first/gpu-0-mig-7g40gb-0-0"
    When all pods end
    Given these nodes:
      | node   | cards | model          | MIG | offered by |
      | second | 1     | A100-SXM4-40GB | on  | DRA driver |
    When a pod claims one "7g.40gb"
    Then pod "pod-2" runs
    And pod "pod-2" gets "second/gpu-0-mig-7g40gb-0-0"
    And claims, counters and the card agree
    When all pods end
    Then nothing is left behind on the node
