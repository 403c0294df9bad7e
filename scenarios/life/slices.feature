@life @needs:DRAPartitionableDevices
Feature: Slices that are withdrawn
  Devices that are in somebody's hands stay there, whether they are published or not, and are not given twice when they
  are published again.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode

  Scenario: slices that somebody deletes are published again, and who holds a device keeps it
    When a pod claims one "3g.20gb"
    Then 1 pod runs, each on a partition of its own
    When the ResourceSlices of the node are deleted
    Then the node offers its cards again within 60 seconds
    And pod "pod-1" keeps running for 2 seconds
    And claims, counters and the card agree
    When 2 pods each claim one "3g.20gb"
    Then 2 pods run, each on a partition of its own
    And 1 pod waits, and the scheduler says it "cannot allocate all claims"

  Scenario: while the driver is away its slices are withdrawn, and nothing is given twice when they are back
    When a pod claims one "3g.20gb"
    Then 1 pod runs, each on a partition of its own
    When the driver on the node is killed
    And the ResourceSlices of the node are deleted
    Then the node offers nothing within 10 seconds
    When 2 pods each claim one "3g.20gb"
    Then 1 pod runs
    And 2 pods wait, and the scheduler says it "cannot allocate all claims"
    When the driver on the node starts again
    Then the node offers its cards again within 30 seconds
    And 2 pods run, each on a partition of its own
    And 1 pod waits, and the scheduler says it "cannot allocate all claims"
    And claims, counters and the card agree
