@arrivals @needs:kubernetes-1.36 @needs:DRAPartitionableDevices
Feature: A day of arrivals
  Five tenants share four cards that are cut and four that are not. Their jobs come as they come, some all day, some in office
  hours, some at night; each tenant has a quota and borrows what others leave idle. The day is short, and so are its jobs: no
  clock runs faster. Every change is recorded, and at each of them what the queues charge is held against what the pods hold.

  Background:
    Given a node with 4 "A100-SXM4-40GB" in MIG mode and 4 "L40S"
    And a DeviceClass for each MIG profile of "A100-SXM4-40GB"
    And Kueue charges:
      | resource | class          | by      |
      | mig-1g   | mig-1g.5gb     | devices |
      | mig-3g   | mig-3g.20gb    | devices |
      | card     | gpu.nvidia.com | devices |
    And queue "research" of cohort "lab" holds:
      | resource | quota | borrows | lends |
      | mig-1g   | 2     | -       | -     |
      | mig-3g   | 1     | -       | -     |
      | card     | 1     | -       | -     |
    And queue "web" of cohort "lab" holds:
      | resource | quota | borrows | lends |
      | mig-1g   | 4     | -       | -     |
      | mig-3g   | 0     | -       | -     |
      | card     | 0     | -       | -     |
    And queue "nightly" of cohort "lab" holds:
      | resource | quota | borrows | lends |
      | mig-1g   | 0     | -       | -     |
      | mig-3g   | 1     | -       | -     |
      | card     | 2     | -       | -     |
    And queue "students" of cohort "lab" holds:
      | resource | quota | borrows | lends |
      | mig-1g   | 4     | 4       | -     |
      | mig-3g   | 0     | -       | -     |
      | card     | 0     | -       | -     |
    And queue "render" of cohort "lab" holds:
      | resource | quota | borrows | lends |
      | mig-1g   | 0     | -       | -     |
      | mig-3g   | 1     | -       | -     |
      | card     | 1     | -       | -     |

  Scenario: in a short day nobody is charged for what others hold
    When a day of arrivals passes in 40 seconds, with seed 11:
      | queue    | jobs | hours | class          | works | busy |
      | research | 5    | 8-20  | mig-1g.5gb     | 3     | 60   |
      | research | 3    | 8-20  | gpu.nvidia.com | 4     | 90   |
      | web      | 8    | 0-24  | mig-1g.5gb     | 2     | 40   |
      | nightly  | 5    | 0-8   | gpu.nvidia.com | 4     | 100  |
      | students | 8    | 10-22 | mig-1g.5gb     | 3     | 30   |
      | render   | 4    | 6-18  | mig-3g.20gb    | 4     | 80   |
    Then no job of the day is lost
    And at every change the queues charged what their pods held
    And every tenant kept its devices busy by what NVML says
    And claims, counters and the card agree

  @long
  Scenario: a day in ten minutes
    When a day of arrivals passes in 540 seconds, with seed 42:
      | queue    | jobs | hours | class          | works | busy |
      | research | 50   | 8-20  | mig-1g.5gb     | 9     | 60   |
      | research | 25   | 8-20  | gpu.nvidia.com | 12    | 90   |
      | web      | 90   | 0-24  | mig-1g.5gb     | 5     | 40   |
      | nightly  | 40   | 0-8   | gpu.nvidia.com | 10    | 100  |
      | nightly  | 12   | 0-8   | mig-3g.20gb    | 12    | 100  |
      | students | 90   | 10-22 | mig-1g.5gb     | 8     | 30   |
      | render   | 40   | 6-18  | mig-3g.20gb    | 12    | 80   |
    Then no job of the day is lost
    And at every change the queues charged what their pods held
    And every tenant kept its devices busy by what NVML says
    And claims, counters and the card agree
