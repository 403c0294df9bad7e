@around @autoscaling @needs:kubernetes-1.37 @needs:DRAPartitionableDevices
Feature: Nobody asks, and no partition is held
  A server of models that nobody asks should give its partitions back. The autoscaler of the controller manager can go to zero by
  a metric from outside (HPAScaleToZero, on by default from 1.37 on); the metric is told by an API server of ours, through the
  aggregation of the real one.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode

  Scenario: from one to none, and back to as many as are asked for
    When the metric "requests-waiting" stands at "2"
    Given a Deployment "server" whose pods claim one "2g.10gb" each, one for 2 of the metric "requests-waiting", from "0" to 3
    Then the Deployment "server" has "1" pods that run, by its autoscaler
    And claims, counters and the card agree
    When the metric "requests-waiting" stands at "0"
    Then the Deployment "server" has "0" pods that run, by its autoscaler
    And the card is whole again
    When the metric "requests-waiting" stands at "5"
    Then the Deployment "server" has "3" pods that run, by its autoscaler
    And claims, counters and the card agree
