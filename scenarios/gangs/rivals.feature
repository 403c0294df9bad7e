@gangs @gates:GenericWorkload @gates:DRAPartitionableDevices
Feature: Gangs in each other's way
  Placed pod by pod, two gangs can take half of a card each and wait for the other for ever. Placed as gangs, one starts and the
  other holds nothing.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode

  @needs:kubernetes-1.36
  Scenario: of two gangs that come at once one starts, and the other follows
    When gangs "red, blue" of 2 pods each come at once, each pod claiming one "3g.20gb"
    Then exactly one of gangs "red, blue" runs, and the others hold nothing
    And no partition is held by a gang that does not run
    When the gang that runs ends
    Then exactly one of gangs "red, blue" runs, and the others hold nothing
    And claims, counters and the card agree

  @needs:kubernetes-1.36
  Scenario: a gang larger than the cluster lets others pass
    When gang "huge" of 8 pods comes, each claiming one "1g.5gb"
    Then gang "huge" waits
    When gang "small" of 7 pods comes, each claiming one "1g.5gb"
    Then gang "small" runs
    And gang "huge" still waits after 5 seconds
    And no partition is held by a gang that does not run

  @needs:DRAPrioritizedList @kubernetes-138765 @expected-fail:kubernetes-138765
  Scenario: a gang whose pods take a whole card or half of it finds the two halves
    When gang "pair" of 2 pods comes, each claiming:
      """
      requests:
      - name: gpu
        firstAvailable:
        - name: whole
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "7g.40gb"'}}]
        - name: half
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "3g.20gb"'}}]
      """
    Then gang "pair" runs within 20 seconds

  Scenario: who lost a pod keeps the rest of its devices until somebody takes them
    When gang "train" of 2 pods comes, each claiming one "3g.20gb"
    Then gang "train" runs
    When a running pod of gang "train" is lost
    # Nobody in Kubernetes ends the others: half of the card is held, and nothing is trained.
    Then gang "train" holds 1 device without running
    When 1 pod of gang "train" comes, each claiming one "3g.20gb"
    Then gang "train" runs
    And no partition is held by a gang that does not run

  Scenario: priority takes no device from anybody
    When gang "low" of 2 pods with priority 10 comes, each claiming one "3g.20gb"
    Then gang "low" runs
    When gang "high" of 2 pods with priority 1000 comes, each claiming one "3g.20gb"
    Then gang "high" waits
    And gang "low" still runs after 10 seconds
    And gang "high" still waits after 1 second
    When gang "low" ends
    Then gang "high" runs

  @needs:kubernetes-1.37
  Scenario: the group says that it has looked for somebody to preempt
    When gang "low" of 2 pods with priority 10 comes, each claiming one "3g.20gb"
    Then gang "low" runs
    When gang "high" of 2 pods with priority 1000 comes, each claiming one "3g.20gb"
    Then gang "high" waits, and the scheduler says it "pod group preemption"

  Scenario: of two gangs that wait the one with the higher priority is next
    When pod "first" claims:
      """
      requests:
      - name: gpu
        exactly:
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "7g.40gb"'}}]
      """
    Then pod "first" runs
    When gang "low" of 2 pods with priority 10 comes, each claiming one "3g.20gb"
    And gang "high" of 2 pods with priority 1000 comes, each claiming one "3g.20gb"
    Then gang "low" waits
    And gang "high" waits
    When pod "first" ends
    Then gang "high" runs
    And gang "low" waits
    And no partition is held by a gang that does not run
