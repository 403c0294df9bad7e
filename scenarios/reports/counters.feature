@reports @hand-written-slices @needs:DRAPartitionableDevices
Feature: Public reports on partitions and their counters
  What was reported of the scheduler's allocator, played against this version of it. The devices are hand-written
  ResourceSlices with no driver behind them: claims are allocated as they would be, and no pod can run on them.

  @kubernetes-140434
  Scenario: kubernetes 140434: counters of two drivers whose pools have the same name are two things
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: one-0}
      spec:
        driver: one.example.com
        allNodes: true
        pool: {name: shared-name, generation: 1, resourceSliceCount: 2}
        sharedCounters:
        - name: card
          counters: {memory: {value: 40Gi}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: one-1}
      spec:
        driver: one.example.com
        allNodes: true
        pool: {name: shared-name, generation: 1, resourceSliceCount: 2}
        devices:
        - name: whole
          consumesCounters: [{counterSet: card, counters: {memory: {value: 40Gi}}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: one}
      spec:
        selectors: [{cel: {expression: 'device.driver == "one.example.com"'}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: claim-one}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: one
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: two-0}
      spec:
        driver: two.example.com
        allNodes: true
        pool: {name: shared-name, generation: 1, resourceSliceCount: 2}
        sharedCounters:
        - name: card
          counters: {memory: {value: 40Gi}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: two-1}
      spec:
        driver: two.example.com
        allNodes: true
        pool: {name: shared-name, generation: 1, resourceSliceCount: 2}
        devices:
        - name: whole
          consumesCounters: [{counterSet: card, counters: {memory: {value: 40Gi}}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: two}
      spec:
        selectors: [{cel: {expression: 'device.driver == "two.example.com"'}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: claim-two}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: two
      """
    When pod "a" uses claim "claim-one"
    Then claim "claim-one" gets "one.example.com/shared-name/whole"
    When pod "b" uses claim "claim-two"
    Then claim "claim-two" gets "two.example.com/shared-name/whole"

  @kubernetes-140433 @needs:DRAConsumableCapacity
  Scenario: kubernetes 140433: the second share of a device takes no counter again
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: c-0}
      spec:
        driver: parts.example.com
        allNodes: true
        pool: {name: card, generation: 1, resourceSliceCount: 2}
        sharedCounters:
        - name: card
          counters: {memory: {value: 40Gi}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: c-1}
      spec:
        driver: parts.example.com
        allNodes: true
        pool: {name: card, generation: 1, resourceSliceCount: 2}
        devices:
        - name: shared
          consumesCounters: [{counterSet: card, counters: {memory: {value: 40Gi}}}]
          allowMultipleAllocations: true
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: parts}
      spec:
        selectors: [{cel: {expression: 'device.driver == "parts.example.com"'}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: a}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: parts
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: b}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: parts
      """
    When pod "a" uses claim "a"
    Then claim "a" gets "shared"
    When pod "b" uses claim "b"
    Then claim "b" gets "shared"

  @kubernetes-140436 @needs:DRADeviceTaints
  Scenario: kubernetes 140436: a candidate that is passed over gives its counters back
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: c-0}
      spec:
        driver: parts.example.com
        allNodes: true
        pool: {name: card, generation: 1, resourceSliceCount: 2}
        sharedCounters:
        - name: card
          counters: {memory: {value: 40Gi}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: c-1}
      spec:
        driver: parts.example.com
        allNodes: true
        pool: {name: card, generation: 1, resourceSliceCount: 2}
        devices:
        - name: first
          consumesCounters: [{counterSet: card, counters: {memory: {value: 40Gi}}}]
          taints: [{key: example.com/broken, effect: NoSchedule}]
        - name: second
          consumesCounters: [{counterSet: card, counters: {memory: {value: 40Gi}}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: parts}
      spec:
        selectors: [{cel: {expression: 'device.driver == "parts.example.com"'}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: a}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: parts
      """
    When pod "a" uses claim "a"
    Then claim "a" gets "second"

  @kubernetes-140729 @expected-fail:kubernetes-140729 @needs:DRAAdminAccess
  Scenario: kubernetes 140729: admin access takes nothing from the counters
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: v1
      kind: Namespace
      metadata: {name: own, labels: {resource.kubernetes.io/admin-access: "true"}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: c-0}
      spec:
        driver: parts.example.com
        allNodes: true
        pool: {name: card, generation: 1, resourceSliceCount: 2}
        sharedCounters:
        - name: card
          counters: {memory: {value: 40Gi}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: c-1}
      spec:
        driver: parts.example.com
        allNodes: true
        pool: {name: card, generation: 1, resourceSliceCount: 2}
        devices:
        - name: whole
          consumesCounters: [{counterSet: card, counters: {memory: {value: 40Gi}}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: parts}
      spec:
        selectors: [{cel: {expression: 'device.driver == "parts.example.com"'}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: user}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: parts
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: monitor}
      spec:
        devices:
          requests:
          - name: gpu
            exactly: {deviceClassName: parts, adminAccess: true}
      """
    When pod "user" uses claim "user"
    Then claim "user" gets "whole"
    When pod "monitor" uses claim "monitor"
    Then claim "monitor" gets "whole"

  @kubernetes-140802 @expected-fail:kubernetes-140802
  Scenario: kubernetes 140802: what is allocated counts, although its device is no longer published
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: c-0}
      spec:
        driver: parts.example.com
        allNodes: true
        pool: {name: card, generation: 1, resourceSliceCount: 2}
        sharedCounters:
        - name: card
          counters: {memory: {value: 40Gi}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: c-1}
      spec:
        driver: parts.example.com
        allNodes: true
        pool: {name: card, generation: 1, resourceSliceCount: 2}
        devices:
        - name: whole
          consumesCounters: [{counterSet: card, counters: {memory: {value: 40Gi}}}]
        - name: part
          consumesCounters: [{counterSet: card, counters: {memory: {value: 20Gi}}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: parts}
      spec:
        selectors: [{cel: {expression: 'device.driver == "parts.example.com"'}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: user}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: parts
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: late}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: parts
      """
    When pod "user" uses claim "user"
    Then claim "user" gets "whole"
    When this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: c-0}
      spec:
        driver: parts.example.com
        allNodes: true
        pool: {name: card, generation: 1, resourceSliceCount: 2}
        sharedCounters:
        - name: card
          counters: {memory: {value: 40Gi}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: c-1}
      spec:
        driver: parts.example.com
        allNodes: true
        pool: {name: card, generation: 1, resourceSliceCount: 2}
        devices:
        - name: part
          consumesCounters: [{counterSet: card, counters: {memory: {value: 20Gi}}}]
      """
    And pod "late" uses claim "late"
    Then claim "late" is not allocated, and the scheduler says it "cannot allocate all claims"

  @kubernetes-138882
  Scenario: kubernetes 138882: all devices of a class with counters, where they fit and where they do not
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: c-0}
      spec:
        driver: parts.example.com
        allNodes: true
        pool: {name: card, generation: 1, resourceSliceCount: 2}
        sharedCounters:
        - name: card
          counters: {memory: {value: 40Gi}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: c-1}
      spec:
        driver: parts.example.com
        allNodes: true
        pool: {name: card, generation: 1, resourceSliceCount: 2}
        devices:
        - name: left
          consumesCounters: [{counterSet: card, counters: {memory: {value: 20Gi}}}]
        - name: right
          consumesCounters: [{counterSet: card, counters: {memory: {value: 20Gi}}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: parts}
      spec:
        selectors: [{cel: {expression: 'device.driver == "parts.example.com"'}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: all}
      spec:
        devices:
          requests:
          - name: gpu
            exactly: {deviceClassName: parts, allocationMode: All}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: late}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: parts
      """
    When pod "a" uses claim "all"
    Then claim "all" gets "left, right"
    When pod "b" uses claim "late"
    Then claim "late" is not allocated, and the scheduler says it "cannot allocate all claims"

  @dra-driver-nvidia-gpu-859
  Scenario: dra-driver-nvidia-gpu 859: counters and devices in one slice are refused
    Given a node with 1 "A100-SXM4-40GB"
    When this manifest is tried:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: both}
      spec:
        driver: parts.example.com
        allNodes: true
        pool: {name: card, generation: 1, resourceSliceCount: 1}
        sharedCounters:
        - name: card
          counters: {memory: {value: 40Gi}}
        devices:
        - name: whole
          consumesCounters: [{counterSet: card, counters: {memory: {value: 40Gi}}}]
      """
    Then the API server refuses it, saying "only one of"

  @limits
  Scenario: nine counter sets in one slice are refused: a node of nine cards needs two
    Given a node with 1 "A100-SXM4-40GB"
    When this manifest is tried:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: nine}
      spec:
        driver: parts.example.com
        allNodes: true
        pool: {name: card, generation: 1, resourceSliceCount: 1}
        sharedCounters:
        - name: card-0
          counters: {memory: {value: 40Gi}}
        - name: card-1
          counters: {memory: {value: 40Gi}}
        - name: card-2
          counters: {memory: {value: 40Gi}}
        - name: card-3
          counters: {memory: {value: 40Gi}}
        - name: card-4
          counters: {memory: {value: 40Gi}}
        - name: card-5
          counters: {memory: {value: 40Gi}}
        - name: card-6
          counters: {memory: {value: 40Gi}}
        - name: card-7
          counters: {memory: {value: 40Gi}}
        - name: card-8
          counters: {memory: {value: 40Gi}}
      """
    Then the API server refuses it, saying "must have at most 8 items"
