@around @alerts @needs:DRAPartitionableDevices
Feature: Somebody is told of claims that wait
  A claim that waits is an object like any other, and nobody looks. Prometheus scrapes the real components, and the rules that
  this repository ships say when a person should be told: that a pod waits for a device, and that nobody would notice.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode

  @needs:kubernetes-1.35
  Scenario: a claim that is stuck is told, and no more when it has its device
    Given Prometheus watches the cluster by the shipped rules, each after 5 seconds
    Then promtool finds the shipped rules in order
    And Prometheus reaches every component
    When a pod claims one "7g.40gb"
    Then pod "pod-1" runs
    And no alert is there
    When a pod claims one "1g.5gb"
    Then pod "pod-2" waits, and the scheduler says it "cannot allocate all claims"
    And alert "PodsWaitForDevices" fires within 60 seconds
    And alert "ResourceClaimsWaitForDevices" fires within 60 seconds
    When pod "pod-1" ends
    Then pod "pod-2" runs within 30 seconds
    And no alert is there
