@gangs @gates:GenericWorkload @gates:DRAPartitionableDevices
Feature: Gangs placed by other schedulers
  The same gang, given to a scheduler beside Kubernetes' own. One that cannot be had is named and its scenario is not run. Two
  schedulers that hand out devices of one node at the same time are promised nothing by anybody, and not played.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode

  @scheduler:second
  Scenario: a second kube-scheduler with a profile of its own starts gangs whole
    Given gangs are placed by scheduler "second"
    When gang "train" of 2 pods comes, each claiming one "3g.20gb"
    Then gang "train" runs
    And gang "train" was placed by scheduler "second"
    When gang "late" of 2 pods comes, each claiming one "3g.20gb"
    Then gang "late" waits
    And no partition is held by a gang that does not run
    When gang "train" ends
    Then gang "late" runs
    And gang "late" was placed by scheduler "second"
    And claims, counters and the card agree

  @scheduler:volcano
  Scenario: Volcano starts a gang whole
    Given gangs are placed by scheduler "volcano"
    When gang "train" of 2 pods comes, each claiming one "3g.20gb"
    Then gang "train" runs
    And gang "train" was placed by scheduler "volcano"

  @scheduler:kai
  Scenario: KAI starts a gang whole
    Given gangs are placed by scheduler "kai"
    When gang "train" of 2 pods comes, each claiming one "3g.20gb"
    Then gang "train" runs
    And gang "train" was placed by scheduler "kai"

  @scheduler:hami
  Scenario: HAMi starts a gang whole
    Given gangs are placed by scheduler "hami"
    When gang "train" of 2 pods comes, each claiming one "3g.20gb"
    Then gang "train" runs
    And gang "train" was placed by scheduler "hami"
