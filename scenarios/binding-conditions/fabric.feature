@binding-conditions @hand-written-slices @needs:DRADeviceBindingConditions @needs:DRAResourceClaimDeviceStatus
Feature: Devices that must be attached first
  A card in a fabric is allocated before it is attached: the pod is bound only when the driver's controller has reported
  the device as ready, and looks for another place when it has failed. No driver stands behind these hand-written
  ResourceSlices; the scenario reports in its place, and no pod can run on them.

  Background:
    Given a node with 1 "A100-SXM4-40GB"
    And the manifest "fabric.yaml" is applied
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: remote}
      spec:
        devices:
          requests:
          - name: gpu
            exactly: {deviceClassName: remote}
      """

  @smoke
  Scenario: a pod is bound when its device is reported as attached, and not before
    When pod "far" uses claim "remote"
    Then claim "remote" gets "far-0"
    And pod "far" is bound to no node for 3 seconds
    When the devices of claim "remote" are reported as "example.com/attached"
    Then pod "far" is bound to "node-1"

  Scenario: a device that fails to attach is given back, and the claim is allocated anew
    When pod "far" uses claim "remote"
    Then claim "remote" gets "far-0"
    When the devices of claim "remote" are reported as "example.com/failed"
    Then claim "remote" is allocated anew, without the report "example.com/failed"
    And claim "remote" gets "far-0"
    And pod "far" is bound to no node for 3 seconds
    When the devices of claim "remote" are reported as "example.com/attached"
    Then pod "far" is bound to "node-1"
