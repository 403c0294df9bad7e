@queues @needs:kubernetes-1.36 @needs:DRAPartitionableDevices
Feature: The gap between quota and device
  Kueue gives quota, the scheduler gives devices, and nobody asks whether the two agree. A quota of all the memory of one
  A100 is enough for eight small jobs; the card has room for seven. The eighth holds quota and runs nowhere.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode

  Scenario: a quota of the memory of one card admits eight small jobs where seven fit
    Given Kueue charges:
      | resource   | class          | by             |
      | gpu.memory | mig.nvidia.com | counter memory |
    And queue "team" holds:
      | resource   | quota   |
      | gpu.memory | 40320Mi |
    When 8 jobs in queue "team" ask for one "1g.5gb"
    Then 8 jobs are admitted
    And 7 jobs run
    And 1 job holds quota and no device, and the scheduler says "cannot allocate all claims"
    And a job has held quota without a device for 5 seconds or more

  Scenario: with the multiprocessors counted too it is right
    Given Kueue charges:
      | resource   | class          | by                      |
      | gpu.memory | mig.nvidia.com | counter memory          |
      | gpu.sm     | mig.nvidia.com | counter multiprocessors |
    And queue "team" holds:
      | resource   | quota   |
      | gpu.memory | 40320Mi |
      | gpu.sm     | 98      |
    When 8 jobs in queue "team" ask for one "1g.5gb"
    Then 7 jobs are admitted
    And 1 job waits, and Kueue says "insufficient unused quota for gpu.sm"
    And 7 jobs run
    And each job is charged what its devices consume

  Scenario: what waits too long for its pods gives its quota back
    Given Kueue charges:
      | resource   | class          | by             |
      | gpu.memory | mig.nvidia.com | counter memory |
    And Kueue runs with:
      """
      waitForPodsReady:
        timeout: 12s
        requeuingStrategy: {backoffLimitCount: 0}
      """
    And queue "team" holds:
      | resource   | quota   |
      | gpu.memory | 40320Mi |
    When 8 jobs in queue "team" ask for one "1g.5gb"
    Then 8 jobs are admitted
    And 7 jobs run
    And 1 job holds quota and no device, and the scheduler says "cannot allocate all claims"
    And within 60 seconds Kueue takes quota back, saying "exceeding the maximum number of re-queuing retries"
    And 7 jobs run
    And each job is charged what its devices consume
