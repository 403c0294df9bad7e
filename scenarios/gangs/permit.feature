@gangs @gates:GenericWorkload @gates:DRAPartitionableDevices @needs:kubernetes-until-1.35
Feature: Gangs in Kubernetes 1.35 wait with devices in hand
  There the scheduler places pod by pod and lets those that found a place wait for the rest, up to five minutes. No object says so:
  only whoever comes meanwhile finds the devices gone.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode

  Scenario: a gang of three where two have room keeps a single pod away from a card that nobody holds
    When gang "train" of 3 pods comes, each claiming one "3g.20gb"
    Then gang "train" waits
    And no partition is held by a gang that does not run
    When pod "single" claims:
      """
      requests:
      - name: gpu
        exactly:
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "7g.40gb"'}}]
      """
    Then pod "single" waits
    And gang "train" still waits after 5 seconds

  @kubernetes-137617 @expected-fail:kubernetes-137617
  Scenario: a gang on one claim starts
    When gang "train" of 3 pods comes, sharing one "3g.20gb"
    Then gang "train" runs within 20 seconds
