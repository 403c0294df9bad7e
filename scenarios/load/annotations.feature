@load
Feature: Pods that load their devices
  Who tests a monitor, an autoscaler or a bill needs cards that are busy. A pod says by the annotation
  fakegpu.sliceproof/load how busy its devices are while it runs; nothing computes, and NVML says so to everybody.

  @smoke @needs:DRAPartitionableDevices
  Scenario: the load of a pod is on its partition and goes with it
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    When a pod claims one "2g.10gb" and loads it with "utilization=80,memory=2GiB"
    And a pod claims one "3g.20gb" and loads it with "utilization=10,memory=2048MiB"
    Then 2 pods run, each on a partition of its own
    And nvidia-smi on the node shows 1 process of 2048 MiB on each partition
    When all pods end
    Then nvidia-smi on the node shows no process
    And the card is whole again

  Scenario: a whole card is as busy as its pod says
    Given a node with 1 "A100-SXM4-40GB"
    When a pod claims a whole card and loads it with "utilization=80,memory=2GiB"
    Then 1 pod runs
    And nvidia-smi on the node shows 1 process of 2048 MiB and a card that is 80 % busy
    When a running pod ends
    Then nvidia-smi on the node shows no process
