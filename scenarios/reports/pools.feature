@reports @hand-written-slices
Feature: Public reports on pools, order and search
  The allocator takes devices in the order of pools, slices and devices, and heeds whether a pool is whole. The devices
  are hand-written ResourceSlices with no driver behind them: no pod can run on them.

  @kubernetes-136641
  Scenario: kubernetes 136641: slices count by their names, not by their age
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: b-slice}
      spec:
        driver: pool.example.com
        allNodes: true
        pool: {name: pool, generation: 1, resourceSliceCount: 2}
        devices:
        - name: later
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: a-slice}
      spec:
        driver: pool.example.com
        allNodes: true
        pool: {name: pool, generation: 1, resourceSliceCount: 2}
        devices:
        - name: earlier
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: pooled}
      spec:
        selectors: [{cel: {expression: 'device.driver == "pool.example.com"'}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: a}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: pooled
      """
    When pod "a" uses claim "a"
    Then claim "a" gets "earlier"

  @order
  Scenario: pools count by their names as text: pool-10 comes before pool-2
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: two}
      spec:
        driver: pool.example.com
        allNodes: true
        pool: {name: pool-2, generation: 1, resourceSliceCount: 1}
        devices:
        - name: card
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: ten}
      spec:
        driver: pool.example.com
        allNodes: true
        pool: {name: pool-10, generation: 1, resourceSliceCount: 1}
        devices:
        - name: card
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: pooled}
      spec:
        selectors: [{cel: {expression: 'device.driver == "pool.example.com"'}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: a}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: pooled
      """
    When pod "a" uses claim "a"
    Then claim "a" gets "pool-10/card"

  @kubernetes-130043
  Scenario: kubernetes 130043: nothing is taken from a pool that is not whole
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: half}
      spec:
        driver: pool.example.com
        allNodes: true
        pool: {name: pool, generation: 1, resourceSliceCount: 2}
        devices:
        - name: card
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: pooled}
      spec:
        selectors: [{cel: {expression: 'device.driver == "pool.example.com"'}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: a}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: pooled
      """
    When pod "a" uses claim "a"
    Then claim "a" is not allocated, and the scheduler says it "cannot allocate all claims"
    When this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: other-half}
      spec:
        driver: pool.example.com
        allNodes: true
        pool: {name: pool, generation: 1, resourceSliceCount: 2}
        devices:
        - name: other
      """
    Then claim "a" gets "card"

  @kubernetes-141117 @nondeterministic
  Scenario: kubernetes 141117: slices that disagree on how many they are make no whole pool
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: a-slice}
      spec:
        driver: pool.example.com
        allNodes: true
        pool: {name: pool, generation: 1, resourceSliceCount: 2}
        devices:
        - name: one
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: b-slice}
      spec:
        driver: pool.example.com
        allNodes: true
        pool: {name: pool, generation: 1, resourceSliceCount: 3}
        devices:
        - name: other
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: pooled}
      spec:
        selectors: [{cel: {expression: 'device.driver == "pool.example.com"'}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: a}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: pooled
      """
    When pod "a" uses claim "a"
    Then claim "a" is not allocated, and the scheduler says it "cannot allocate all claims"

  @kubernetes-134466
  Scenario: kubernetes 134466: all devices of a pool that several nodes share are all of this node
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: here}
      spec:
        driver: pool.example.com
        nodeName: node-1
        pool: {name: pool, generation: 1, resourceSliceCount: 2}
        devices:
        - name: here-0
        - name: here-1
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: there}
      spec:
        driver: pool.example.com
        nodeName: node-9
        pool: {name: pool, generation: 1, resourceSliceCount: 2}
        devices:
        - name: there-0
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: pooled}
      spec:
        selectors: [{cel: {expression: 'device.driver == "pool.example.com"'}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: all}
      spec:
        devices:
          requests:
          - name: gpu
            exactly: {deviceClassName: pooled, allocationMode: All}
      """
    When pod "a" uses claim "all"
    Then claim "all" gets "here-0, here-1"

  @kubernetes-131660 @needs:DRAPrioritizedList
  Scenario: kubernetes 131660: when all of the first wish cannot be had, the second is granted
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: firsts}
      spec:
        driver: pool.example.com
        allNodes: true
        pool: {name: pool, generation: 1, resourceSliceCount: 1}
        devices:
        - name: first-0
        - name: first-1
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: seconds}
      spec:
        driver: other.example.com
        allNodes: true
        pool: {name: others, generation: 1, resourceSliceCount: 1}
        devices:
        - name: second-0
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: firsts}
      spec:
        selectors: [{cel: {expression: 'device.driver == "pool.example.com"'}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: seconds}
      spec:
        selectors: [{cel: {expression: 'device.driver == "other.example.com"'}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: taker}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: firsts
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: wish}
      spec:
        devices:
          requests:
          - name: gpu
            firstAvailable:
            - {name: all, deviceClassName: firsts, allocationMode: All}
            - {name: one, deviceClassName: seconds}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: after}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: firsts
      """
    When pod "a" uses claim "taker"
    Then claim "taker" gets "first-0"
    When pod "b" uses claim "wish"
    Then claim "wish" gets "second-0"
    When pod "c" uses claim "after"
    Then claim "after" gets "first-1"

  @kubernetes-139814 @kubernetes-139731 @needs:DRAPrioritizedList
  Scenario: kubernetes 139814, 139731: configuration for one wish is not there for another
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: slice}
      spec:
        driver: pool.example.com
        allNodes: true
        pool: {name: pool, generation: 1, resourceSliceCount: 1}
        devices:
        - name: card
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: pooled}
      spec:
        selectors: [{cel: {expression: 'device.driver == "pool.example.com"'}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: wish}
      spec:
        devices:
          requests:
          - name: gpu
            firstAvailable:
            - {name: two, deviceClassName: pooled, count: 2}
            - {name: one, deviceClassName: pooled}
          config:
          - requests: [gpu/two]
            opaque: {driver: pool.example.com, parameters: {kind: ForTwo}}
          - requests: [gpu]
            opaque: {driver: pool.example.com, parameters: {kind: ForBoth}}
      """
    When pod "a" uses claim "wish"
    Then claim "wish" gets "card"
    And claim "wish" carries the configuration "ForBoth"
    And claim "wish" does not carry the configuration "ForTwo"

  @kubernetes-126807
  Scenario: kubernetes 126807: a pod that waits gets a device that is published later
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: pooled}
      spec:
        selectors: [{cel: {expression: 'device.driver == "pool.example.com"'}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: a}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: pooled
      """
    When pod "a" uses claim "a"
    Then claim "a" is not allocated, and the scheduler says it "cannot allocate all claims"
    When this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: slice}
      spec:
        driver: pool.example.com
        allNodes: true
        pool: {name: pool, generation: 1, resourceSliceCount: 1}
        devices:
        - name: card
      """
    Then claim "a" gets "card"

  @kubernetes-134991
  Scenario: kubernetes 134991: a pod that waits for a class is tried again when the class comes
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: slice}
      spec:
        driver: pool.example.com
        allNodes: true
        pool: {name: pool, generation: 1, resourceSliceCount: 1}
        devices:
        - name: card
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: a}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: pooled
      """
    When pod "a" uses claim "a"
    Then claim "a" is not allocated, and the scheduler says it "device class pooled does not exist"
    When this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: pooled}
      spec:
        selectors: [{cel: {expression: 'device.driver == "pool.example.com"'}}]
      """
    Then claim "a" gets "card"

  @kubernetes-140831
  Scenario: kubernetes 140831: a pod that waits is tried again when the claim in its way goes
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: slice}
      spec:
        driver: pool.example.com
        allNodes: true
        pool: {name: pool, generation: 1, resourceSliceCount: 1}
        devices:
        - name: card
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: pooled}
      spec:
        selectors: [{cel: {expression: 'device.driver == "pool.example.com"'}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: a}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: pooled
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: b}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: pooled
      """
    When pod "a" uses claim "a"
    Then claim "a" gets "card"
    When pod "b" uses claim "b"
    Then claim "b" is not allocated, and the scheduler says it "cannot allocate all claims"
    When pod "a" ends
    And the ResourceClaim "a" is deleted
    Then claim "b" gets "card"

  @kubernetes-131730 @kubernetes-133678
  Scenario: kubernetes 131730, 133678: a search that can find nothing ends with a reason
    Given a node with 1 "A100-SXM4-40GB"
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: slice}
      spec:
        driver: pool.example.com
        allNodes: true
        pool: {name: pool, generation: 1, resourceSliceCount: 1}
        devices:
        - {name: card-0, attributes: {rack: {int: 0}}}
        - {name: card-1, attributes: {rack: {int: 1}}}
        - {name: card-2, attributes: {rack: {int: 2}}}
        - {name: card-3, attributes: {rack: {int: 3}}}
        - {name: card-4, attributes: {rack: {int: 4}}}
        - {name: card-5, attributes: {rack: {int: 5}}}
        - {name: card-6, attributes: {rack: {int: 6}}}
        - {name: card-7, attributes: {rack: {int: 7}}}
        - {name: card-8, attributes: {rack: {int: 8}}}
        - {name: card-9, attributes: {rack: {int: 9}}}
        - {name: card-10, attributes: {rack: {int: 10}}}
        - {name: card-11, attributes: {rack: {int: 11}}}
        - {name: card-12, attributes: {rack: {int: 12}}}
        - {name: card-13, attributes: {rack: {int: 13}}}
        - {name: card-14, attributes: {rack: {int: 14}}}
        - {name: card-15, attributes: {rack: {int: 15}}}
        - {name: card-16, attributes: {rack: {int: 16}}}
        - {name: card-17, attributes: {rack: {int: 17}}}
        - {name: card-18, attributes: {rack: {int: 18}}}
        - {name: card-19, attributes: {rack: {int: 19}}}
        - {name: card-20, attributes: {rack: {int: 20}}}
        - {name: card-21, attributes: {rack: {int: 21}}}
        - {name: card-22, attributes: {rack: {int: 22}}}
        - {name: card-23, attributes: {rack: {int: 23}}}
        - {name: card-24, attributes: {rack: {int: 24}}}
        - {name: card-25, attributes: {rack: {int: 25}}}
        - {name: card-26, attributes: {rack: {int: 26}}}
        - {name: card-27, attributes: {rack: {int: 27}}}
        - {name: card-28, attributes: {rack: {int: 28}}}
        - {name: card-29, attributes: {rack: {int: 29}}}
        - {name: card-30, attributes: {rack: {int: 30}}}
        - {name: card-31, attributes: {rack: {int: 31}}}
        - {name: card-32, attributes: {rack: {int: 32}}}
        - {name: card-33, attributes: {rack: {int: 33}}}
        - {name: card-34, attributes: {rack: {int: 34}}}
        - {name: card-35, attributes: {rack: {int: 35}}}
        - {name: card-36, attributes: {rack: {int: 36}}}
        - {name: card-37, attributes: {rack: {int: 37}}}
        - {name: card-38, attributes: {rack: {int: 38}}}
        - {name: card-39, attributes: {rack: {int: 39}}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: pooled}
      spec:
        selectors: [{cel: {expression: 'device.driver == "pool.example.com"'}}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: a}
      spec:
        devices:
          requests:
          - name: gpu
            exactly: {deviceClassName: pooled, count: 8}
          constraints: [{matchAttribute: pool.example.com/rack}]
      """
    When pod "a" uses claim "a"
    Then claim "a" is not allocated, and the scheduler says it "cannot allocate all claims"
