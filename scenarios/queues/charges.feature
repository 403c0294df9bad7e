@queues @needs:kubernetes-1.36 @needs:DRAPartitionableDevices
Feature: What a queue is charged for a partition
  Kueue charges before anybody knows which device a pod will get: one for each device, or the largest amount among all devices
  that would do. Each charge is held against what the scheduler then really allocated.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode

  Scenario: a class for each profile, and devices are counted
    Given a DeviceClass for each MIG profile of "A100-SXM4-40GB"
    And Kueue charges:
      | resource | class       | by      |
      | mig-1g   | mig-1g.5gb  | devices |
      | mig-3g   | mig-3g.20gb | devices |
    And queue "team" holds:
      | resource | quota |
      | mig-1g   | 2     |
      | mig-3g   | 1     |
    When job "small" of 2 pods in queue "team" asks for one of class "mig-1g.5gb" each
    And job "large" of 1 pod in queue "team" asks for one of class "mig-3g.20gb" each
    And job "late" of 1 pod in queue "team" asks for one of class "mig-1g.5gb" each
    Then jobs "small, large" are admitted
    And jobs "small, large" run
    And Kueue charges job "small" "2" of "mig-1g"
    And job "late" waits, and Kueue says "insufficient unused quota for mig-1g"
    And each job is charged what its devices consume
    When the Job "small" is deleted
    Then job "late" is admitted
    And job "late" runs

  Scenario: memory is charged by the profile that a claim selects
    Given Kueue charges:
      | resource   | class          | by             |
      | gpu.memory | mig.nvidia.com | counter memory |
    And queue "team" holds:
      | resource   | quota   |
      | gpu.memory | 40320Mi |
    When job "small" of 1 pod in queue "team" asks for one "1g.5gb" each
    And job "large" of 1 pod in queue "team" asks for one "3g.20gb" each
    Then jobs "small, large" run
    And Kueue charges job "small" "4864Mi" of "gpu.memory"
    And Kueue charges job "large" "20096Mi" of "gpu.memory"
    And each job is charged what its devices consume

  Scenario: a claim that takes any partition is charged the largest and gets the first
    Given Kueue charges:
      | resource   | class          | by             |
      | gpu.memory | mig.nvidia.com | counter memory |
    And queue "team" holds:
      | resource   | quota   |
      | gpu.memory | 40320Mi |
    When job "any" of 1 pod in queue "team" asks for one of class "mig.nvidia.com" each
    Then job "any" runs
    And charge and devices differ:
      | job | resource   | charged | consumed |
      | any | gpu.memory | 40320Mi | 9984Mi   |

  Scenario: an extended resource counts like the class behind it
    Given a DeviceClass for each MIG profile of "A100-SXM4-40GB"
    And Kueue charges:
      | resource | class      | by      |
      | mig-1g   | mig-1g.5gb | devices |
    And queue "team" holds:
      | resource | quota |
      | mig-1g   | 1     |
    When job "plain" of 1 pod in queue "team" asks for one of resource "nvidia.com/mig-1g.5gb" each
    Then job "plain" runs
    And Kueue charges job "plain" "1" of "mig-1g"
    When job "claim" of 1 pod in queue "team" asks for one of class "mig-1g.5gb" each
    Then job "claim" waits, and Kueue says "insufficient unused quota for mig-1g"
    And each job is charged what its devices consume

  Scenario: an extended resource in limits alone is not found in any queue
    Given a DeviceClass for each MIG profile of "A100-SXM4-40GB"
    And Kueue charges:
      | resource | class      | by      |
      | mig-1g   | mig-1g.5gb | devices |
    And queue "team" holds:
      | resource | quota |
      | mig-1g   | 1     |
    When this manifest is applied:
      """
      apiVersion: batch/v1
      kind: Job
      metadata: {name: usual, labels: {kueue.x-k8s.io/queue-name: team}}
      spec:
        suspend: true
        template:
          spec:
            restartPolicy: Never
            automountServiceAccountToken: false
            containers:
            - name: main
              image: sliceproof.local/gpu-test:1
              imagePullPolicy: Never
              command: [sleep, "3600"]
              resources: {limits: {nvidia.com/mig-1g.5gb: "1"}}
      """
    Then job "usual" waits, and Kueue says "resource nvidia.com/mig-1g.5gb unavailable in ClusterQueue"
