@gangs @gates:DRAPartitionableDevices @needs:kubernetes-until-1.34 @scheduler:coscheduling
Feature: Gangs placed by coscheduling
  The scheduler plugin that many clusters have had since before the Workload API. It is a kube-scheduler of its own, built with
  Kubernetes 1.34, and played there: it places pod by pod and lets those that found a place wait for the rest, their devices in
  hand, until its own time is over.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    And gangs are placed by scheduler "coscheduling"

  Scenario: coscheduling starts a gang whole
    When gang "train" of 2 pods comes, each claiming one "3g.20gb"
    Then gang "train" runs
    And gang "train" was placed by scheduler "coscheduling"
    And claims, counters and the card agree
    And no partition is held by a gang that does not run

  Scenario: a gang of three where two have room holds nothing under coscheduling
    When gang "train" of 3 pods comes, each claiming one "3g.20gb"
    Then gang "train" waits
    And gang "train" still waits after 5 seconds
    And no partition is held by a gang that does not run
