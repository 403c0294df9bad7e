@life @needs:DRAPartitionableDevices
Feature: A driver that learns and forgets to cut cards
  DynamicMIG may be switched off and on again while partitions are in use. Without it the driver offers what is cut as it
  is and cuts nothing; with it again it takes the card over. Whoever holds a partition notices nothing.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode

  Scenario: DynamicMIG off and on again over a partition in use
    When a pod claims one "3g.20gb"
    Then 1 pod runs, each on a partition of its own
    When the driver on the node is restarted with the feature gates "DynamicMIG=false"
    Then pod "pod-1" keeps running for 2 seconds
    And claims, counters and the card agree
    When a pod claims one "1g.5gb"
    Then pod "pod-2" waits, and the scheduler says it "cannot allocate all claims"
    When the driver on the node is restarted with the feature gates that it had
    Then pod "pod-2" runs within 30 seconds
    And pod "pod-1" keeps running for 2 seconds
    And claims, counters and the card agree
    When all pods end
    Then nothing is left behind on the node

  Scenario: what a claim had cut stays for the next one, until DynamicMIG is back
    When a pod claims one "3g.20gb"
    Then 1 pod runs, each on a partition of its own
    When the driver on the node is restarted with the feature gates "DynamicMIG=false"
    And pod "pod-1" ends
    Then the cards of the node are cut into "3g.20gb" within 10 seconds
    When a pod claims one "3g.20gb"
    Then pod "pod-2" runs
    And claims, counters and the card agree
    When pod "pod-2" ends
    And the driver on the node is restarted with the feature gates that it had
    Then nothing is left behind on the node
    When a pod claims one "7g.40gb"
    Then pod "pod-3" runs
    And claims, counters and the card agree
