@life @needs:DRAPartitionableDevices
Feature: A hundred claims on one card
  What leaks a little with each claim shows after a hundred: GPU instances, CDI files, claims in the checkpoint, counters.

  Scenario: a hundred pods come and go, and the card is as it was
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    When 100 pods with one "1g.5gb" each come and go, 7 at a time
    Then nothing is left behind on the node
    When a pod claims one "7g.40gb"
    Then pod "pod-101" runs
    And claims, counters and the card agree
