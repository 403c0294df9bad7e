@sharing
Feature: Software shares a card only where it is wished, and within a team
  Time-slicing, MPS and shares of a card's memory put work side by side that can stop one another. An admission policy
  admits them where the namespace says so; a look at all claims proves that no two teams are on one device.

  Background:
    Given a node with 1 "A100-SXM4-40GB" and the driver's feature gates "TimeSlicingSettings=true"
    And the manifest "software-sharing.yaml" is applied

  @smoke
  Scenario: time-slicing and MPS are refused in a namespace that does not wish them
    Then the API server soon refuses this manifest, saying "time-slicing is not wished in this namespace":
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: sliced}
      spec:
        devices:
          requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]
          config:
          - opaque:
              driver: gpu.nvidia.com
              parameters:
                apiVersion: resource.nvidia.com/v1beta1
                kind: GpuConfig
                sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Short}}
      """
    When this manifest is tried:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaimTemplate
      metadata: {name: mps}
      spec:
        spec:
          devices:
            requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]
            config:
            - opaque:
                driver: gpu.nvidia.com
                parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: MPS}}
      """
    Then the API server refuses it, saying "MPS is not wished in this namespace"
    When this manifest is tried:
      """
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: sliced-everywhere}
      spec:
        config:
        - opaque:
            driver: gpu.nvidia.com
            parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: TimeSlicing}}
      """
    Then the API server refuses it, saying "would do so in every namespace"
    When a pod claims a whole card
    Then pod "pod-1" runs
    And the time of the node's cards is cut "Default"

  Scenario: where it is wished two pods of a team share a card, and its time is cut as they ask
    Given this manifest is applied:
      """
      apiVersion: v1
      kind: Namespace
      metadata: {name: ours, labels: {sliceproof.dev/time-slicing: allowed, sliceproof.dev/team: red}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: sliced}
      spec:
        devices:
          requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]
          config:
          - opaque:
              driver: gpu.nvidia.com
              parameters:
                apiVersion: resource.nvidia.com/v1beta1
                kind: GpuConfig
                sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Short}}
      """
    When pod "reader" uses claim "sliced"
    And pod "writer" uses claim "sliced"
    Then pods "reader, writer" run
    And each running pod sees 1 GPU and no MIG device
    And the time of the node's cards is cut "Short"
    And no device that software shares is in the hands of two teams
    When all pods end
    Then the time of the node's cards is cut "Default"
    And nothing is left behind on the node

  @needs:DRAConsumableCapacity
  Scenario: shares are for the team of their class, and two teams on a device are found
    Given this manifest is applied:
      """
      apiVersion: v1
      kind: Namespace
      metadata: {name: ours, labels: {sliceproof.dev/team: red}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: shares}
      spec:
        driver: shares.example.com
        allNodes: true
        pool: {name: shares, generation: 1, resourceSliceCount: 1}
        devices:
        - name: card
          allowMultipleAllocations: true
          capacity: {memory: {value: 40Gi}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: shares.red}
      spec: {selectors: [{cel: {expression: 'device.driver == "shares.example.com"'}}]}
      ---
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: shares.blue}
      spec: {selectors: [{cel: {expression: 'device.driver == "shares.example.com"'}}]}
      """
    Then the API server soon refuses this manifest, saying "shares of a card are for the team that their class is named after":
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: strange}
      spec:
        devices:
          requests:
          - name: share
            firstAvailable:
            - {name: ours, deviceClassName: shares.red, capacity: {requests: {memory: 10Gi}}}
            - {name: theirs, deviceClassName: shares.blue, capacity: {requests: {memory: 10Gi}}}
      """
    When this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: a}
      spec:
        devices:
          requests:
          - name: share
            exactly: {deviceClassName: shares.red, capacity: {requests: {memory: 10Gi}}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: b}
      spec:
        devices:
          requests:
          - name: share
            exactly: {deviceClassName: shares.red, capacity: {requests: {memory: 10Gi}}}
      """
    And pod "a" uses claim "a"
    And pod "b" uses claim "b"
    Then claim "a" gets "card"
    And claim "b" gets "card"
    And no device that software shares is in the hands of two teams
    Given this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: b, labels: {sliceproof.dev/team: blue}}
      spec:
        devices:
          requests:
          - name: share
            exactly: {deviceClassName: shares.red, capacity: {requests: {memory: 10Gi}}}
      """
    Then software shares "card" between the teams "red, blue"

  @needs:DRAPartitionableDevices
  Scenario: partitions of one card are for whom they may be
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: red, labels: {sliceproof.dev/team: red}}
      spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: mig.nvidia.com}}]}}
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: blue, labels: {sliceproof.dev/team: blue}}
      spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: mig.nvidia.com}}]}}
      """
    When pod "red" uses claim "red"
    And pod "blue" uses claim "blue"
    Then 2 pods run
    And no device that software shares is in the hands of two teams
    And claims, counters and the card agree
