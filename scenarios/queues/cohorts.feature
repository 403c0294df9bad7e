@queues @needs:kubernetes-1.36 @needs:DRAPartitionableDevices
Feature: Queues that borrow of one another
  What one team leaves idle another may use, within limits, and gives back when it is wanted.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    And a DeviceClass for each MIG profile of "A100-SXM4-40GB"
    And Kueue charges:
      | resource | class      | by      |
      | mig-1g   | mig-1g.5gb | devices |

  Scenario: a team borrows what another leaves idle, up to its limit
    Given queue "red" of cohort "lab" holds:
      | resource | quota | borrows | lends |
      | mig-1g   | 3     | 2       | -     |
    And queue "blue" of cohort "lab" holds:
      | resource | quota | borrows | lends |
      | mig-1g   | 4     | -       | -     |
    When job "own" of 3 pods in queue "red" asks for one of class "mig-1g.5gb" each
    And job "borrowed" of 2 pods in queue "red" asks for one of class "mig-1g.5gb" each
    Then jobs "own, borrowed" run
    When job "more" of 1 pod in queue "red" asks for one of class "mig-1g.5gb" each
    Then job "more" waits, and Kueue says "insufficient unused quota for mig-1g"
    And each job is charged what its devices consume

  Scenario: a team that does not lend keeps its quota idle
    Given queue "red" of cohort "lab" holds:
      | resource | quota | borrows | lends |
      | mig-1g   | 3     | -       | -     |
    And queue "blue" of cohort "lab" holds:
      | resource | quota | borrows | lends |
      | mig-1g   | 4     | -       | 1     |
    When job "four" of 4 pods in queue "red" asks for one of class "mig-1g.5gb" each
    Then job "four" runs
    When job "fifth" of 1 pod in queue "red" asks for one of class "mig-1g.5gb" each
    Then job "fifth" waits, and Kueue says "insufficient unused quota for mig-1g"
    And each job is charged what its devices consume

  Scenario: who lent takes it back, and the borrower's devices are free
    Given queue "red" of cohort "lab" holds:
      | resource | quota | borrows | lends |
      | mig-1g   | 3     | -       | -     |
    And queue "blue" of cohort "lab" holds:
      | resource | quota | borrows | lends |
      | mig-1g   | 4     | -       | -     |
    When job "guest" of 7 pods in queue "red" asks for one of class "mig-1g.5gb" each
    Then job "guest" runs
    When job "host" of 4 pods in queue "blue" asks for one of class "mig-1g.5gb" each
    Then Kueue has taken the quota of job "guest" back, saying "reclamation within the cohort"
    And job "host" runs
    And each job is charged what its devices consume

  Scenario: with fair sharing whoever borrows more gives way
    Given Kueue runs with:
      """
      fairSharing:
        preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]
      """
    And queue "red" of cohort "lab" holds:
      | resource | quota | borrows | lends |
      | mig-1g   | 1     | -       | -     |
    And queue "blue" of cohort "lab" holds:
      | resource | quota | borrows | lends |
      | mig-1g   | 1     | -       | -     |
    And queue "idle" of cohort "lab" holds:
      | resource | quota | borrows | lends |
      | mig-1g   | 4     | -       | -     |
    When job "red-1" of 2 pods in queue "red" asks for one of class "mig-1g.5gb" each
    And job "red-2" of 2 pods in queue "red" asks for one of class "mig-1g.5gb" each
    And job "red-3" of 2 pods in queue "red" asks for one of class "mig-1g.5gb" each
    Then jobs "red-1, red-2, red-3" run
    When job "blue-1" of 2 pods in queue "blue" asks for one of class "mig-1g.5gb" each
    Then job "blue-1" runs
    And 3 jobs are admitted
    And each job is charged what its devices consume
