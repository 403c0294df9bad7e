@consumable-capacity @hand-written-slices @needs:DRAConsumableCapacity
Feature: Shares of a device by capacity
  A device that admits several allocations is shared out by its capacity: a request is rounded up by the device's
  policy, and the sum never exceeds what there is. The driver 0.4.1 does not offer this, so the devices are hand-written
  ResourceSlices with no driver behind them: claims are allocated as they would be, and no pod can run on them.

  Background:
    Given a node with 1 "A100-SXM4-40GB"
    And the manifest "shares.yaml" is applied

  @smoke
  Scenario: requests are rounded up to the step, and the sum stays within the card
    When this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: a}
      spec:
        devices:
          requests:
          - name: share
            exactly:
              deviceClassName: stepped
              capacity: {requests: {memory: 12Gi}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: b}
      spec:
        devices:
          requests:
          - name: share
            exactly:
              deviceClassName: stepped
              capacity: {requests: {memory: 20Gi}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: c}
      spec:
        devices:
          requests:
          - name: share
            exactly:
              deviceClassName: stepped
              capacity: {requests: {memory: 6Gi}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: d}
      spec:
        devices:
          requests:
          - name: share
            exactly:
              deviceClassName: stepped
              capacity: {requests: {memory: 5Gi}}
      """
    And pod "a" uses claim "a"
    Then claim "a" gets "stepped"
    And claim "a" takes "15Gi" of "memory"
    When pod "b" uses claim "b"
    Then claim "b" takes "20Gi" of "memory"
    When pod "c" uses claim "c"
    Then claim "c" is not allocated, and the scheduler says it "cannot allocate all claims"
    When pod "d" uses claim "d"
    Then claim "d" takes "5Gi" of "memory"
    And claim "d" gets "stepped"

  Scenario: who names no amount gets the default
    When this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: a}
      spec:
        devices:
          requests:
          - name: share
            exactly:
              deviceClassName: stepped
      """
    And pod "a" uses claim "a"
    Then claim "a" takes "10Gi" of "memory"

  Scenario: less than the least is the least, and more than the most is refused on an empty card
    When this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: little}
      spec:
        devices:
          requests:
          - name: share
            exactly:
              deviceClassName: stepped
              capacity: {requests: {memory: 1Gi}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: much}
      spec:
        devices:
          requests:
          - name: share
            exactly:
              deviceClassName: stepped
              capacity: {requests: {memory: 31Gi}}
      """
    And pod "much" uses claim "much"
    Then claim "much" is not allocated, and the scheduler says it "cannot allocate all claims"
    When pod "little" uses claim "little"
    Then claim "little" takes "5Gi" of "memory"

  Scenario: fixed sizes: a request takes the next one, and the largest is the end
    When this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: small}
      spec:
        devices:
          requests:
          - name: share
            exactly:
              deviceClassName: fixed
              capacity: {requests: {memory: 9Gi}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: large}
      spec:
        devices:
          requests:
          - name: share
            exactly:
              deviceClassName: fixed
              capacity: {requests: {memory: 33Gi}}
      """
    And pod "small" uses claim "small"
    Then claim "small" takes "16Gi" of "memory"
    When pod "large" uses claim "large"
    Then claim "large" is not allocated, and the scheduler says it "cannot allocate all claims"

  Scenario: a share that ends makes room
    When this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: a}
      spec:
        devices:
          requests:
          - name: share
            exactly:
              deviceClassName: stepped
              capacity: {requests: {memory: 30Gi}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: b}
      spec:
        devices:
          requests:
          - name: share
            exactly:
              deviceClassName: stepped
              capacity: {requests: {memory: 15Gi}}
      """
    And pod "a" uses claim "a"
    Then claim "a" takes "30Gi" of "memory"
    When pod "b" uses claim "b"
    Then claim "b" is not allocated, and the scheduler says it "cannot allocate all claims"
    When pod "a" ends
    Then claim "b" takes "15Gi" of "memory"

  Scenario: a policy whose default lies outside its range is refused
    When this manifest is tried:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: wrong}
      spec:
        driver: wrong.example.com
        allNodes: true
        pool: {name: wrong, generation: 1, resourceSliceCount: 1}
        devices:
        - name: card
          allowMultipleAllocations: true
          capacity:
            memory:
              value: 40Gi
              requestPolicy:
                default: 1Gi
                validRange: {min: 5Gi}
      """
    Then the API server refuses it, saying "default is less than min"
