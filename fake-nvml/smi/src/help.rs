//! `-h`.

use crate::args::Topic;

pub(crate) fn text(topic: Topic) -> &'static str {
    match topic {
        Topic::All => ALL,
        Topic::Mig => MIG,
        Topic::Policy => POLICY,
        Topic::Topology => TOPOLOGY,
        Topic::Links => LINKS,
        Topic::Monitor => MONITOR,
    }
}

const ALL: &str = "\
NVIDIA System Management Interface (of a fake GPU)

nvidia-smi [OPTION1 [ARG1]] [OPTION2 [ARG2]] ...

    -h,   --help                Print usage information and exit.
          --version             Print version information and exit.

  LIST OPTIONS:

    -L,   --list-gpus           Display a list of GPUs connected to the system.

  SUMMARY OPTIONS:

    <no arguments>              Show a summary of GPUs connected to the system.

    [plus]

    -i,   --id=                 Target a specific GPU: index, serial number, UUID or PCI address, several with commas.
    -f,   --filename=           Log to a specified file, rather than to stdout.
    -l,   --loop=               Probe until Ctrl+C at specified second interval.
    -lms, --loop-ms=            Probe until Ctrl+C at specified millisecond interval.

  QUERY OPTIONS:

    -q,   --query               Display GPU info.

    [plus any of]

    -x,   --xml-format          Produce XML output.
    -d,   --display=            Display only selected information: MEMORY, UTILIZATION, ECC, TEMPERATURE, POWER, CLOCK,
                                COMPUTE, PIDS, PERFORMANCE, SUPPORTED_CLOCKS, PAGE_RETIREMENT, ACCOUNTING, ENCODER_STATS,
                                SUPPORTED_GPU_TARGET_TEMP, VOLTAGE, FBC_STATS, ROW_REMAPPER, GSP_FIRMWARE_VERSION,
                                POWER_SMOOTHING, POWER_PROFILES; several with commas. POWER, UTILIZATION and CLOCK tell
                                samples of the last while as well.

  SELECTIVE QUERY OPTIONS:

          --query-gpu=          Information about GPU, fields separated by commas. Call --help-query-gpu for more info.
          --query-compute-apps= List of currently active compute processes. Call --help-query-compute-apps for more info.
          --query-accounted-apps=
                                List of accounted compute processes. Call --help-query-accounted-apps for more info.
          --query-retired-pages=
                                List of pages of memory that are retired. Call --help-query-retired-pages for more info.
          --query-remapped-rows=
                                Information about remapped rows. Call --help-query-remapped-rows for more info.
          --query-supported-clocks=
                                List of supported clocks. Call --help-query-supported-clocks for more info.
          --format=             csv[,noheader][,nounits]

  DEVICE MODIFICATION OPTIONS:

    -pm,  --persistence-mode=   Set persistence mode: 0/DISABLED, 1/ENABLED
    -e,   --ecc-config=         Toggle ECC support: 0/DISABLED, 1/ENABLED. Requires root.
    -am,  --accounting-mode=    Enable or disable Accounting Mode: 0/DISABLED, 1/ENABLED. Requires root.
    -pl,  --power-limit=        Specifies maximum power management limit in watts. Requires root.
    -lgc, --lock-gpu-clocks=    Specifies <minGpuClock,maxGpuClock> clocks in MHz, or one for both. Requires root.
    -rgc, --reset-gpu-clocks    Resets the GPU clocks to the default values.
    -lmc, --lock-memory-clocks= Specifies <minMemClock,maxMemClock> clocks in MHz, or one for both. Requires root.
    -rmc, --reset-memory-clocks Resets the memory clocks to the default values.
    -ac,  --applications-clocks=
                                Specifies <memory,graphics> clocks in MHz of applications. Requires root.
    -rac, --reset-applications-clocks
                                Resets the applications clocks to the default values.
    -c,   --compute-mode=       Set MODE for compute applications:
                                0/DEFAULT, 1/EXCLUSIVE_THREAD (deprecated), 2/PROHIBITED, 3/EXCLUSIVE_PROCESS
    -mig, --multi-instance-gpu= Enable or disable Multi Instance GPU: 0/DISABLED, 1/ENABLED. Requires root.
    -r,   --gpu-reset           Trigger reset of the GPU.

  SUBCOMMANDS:

    dmon                        Displays device stats in scrolling format. \"nvidia-smi dmon -h\" for more information.
    pmon                        Displays process stats in scrolling format. \"nvidia-smi pmon -h\" for more information.
    nvlink                      Displays device nvlink information. \"nvidia-smi nvlink -h\" for more information.
    topo                        Displays device/system topology. \"nvidia-smi topo -h\" for more information.
    mig                         Multi Instance GPU management. \"nvidia-smi mig -h\" for more information.
    compute-policy              Control and query compute policies. \"nvidia-smi compute-policy -h\" for more information.
";

const MIG: &str = "\
    mig -- Multi Instance GPU management.

    Usage: nvidia-smi mig [options]

    Options include:
    [-h | --help]: Display help information.
    [-i | --id]: Enumeration index, PCI bus ID or UUID. Provide comma separated values for more than one device.
    [-gi | --gpu-instance-id]: GPU instance ID. Provide comma separated values for more than one GPU instance.
    [-ci | --compute-instance-id]: Compute instance ID. Provide comma separated values for more than one compute instance.
    [-lgip | --list-gpu-instance-profiles]: List supported GPU instance profiles.
    [-lgipp | --list-gpu-instance-possible-placements]: List possible GPU instance placements in the form {Start}:Size.
    [-C | --default-compute-instance]: Create compute instance with the default profile when used with the option to create a GPU instance (-cgi).
    [-cgi | --create-gpu-instance]: Create GPU instances for the given profile tuples: a profile name or ID and an optional
             placement start index, as in 19,9:4.
    [-dgi | --destroy-gpu-instance]: Destroy GPU instances.
    [-lgi | --list-gpu-instances]: List GPU instances.
    [-lcip | --list-compute-instance-profiles]: List supported compute instance profiles.
    [-lcipp | --list-compute-instance-possible-placements]: List possible compute instance placements in the form {Start}:Size.
    [-cci | --create-compute-instance]: Create compute instances for the given profile tuples, as above; without one, with the
             default profile.
    [-dci | --destroy-compute-instance]: Destroy compute instances.
    [-lci | --list-compute-instances]: List compute instances.
";

const POLICY: &str = "\
    compute-policy -- Control and query compute policies.

    Usage: nvidia-smi compute-policy [options]

    Options include:
    [-h | --help]: Display help information.
    [-i | --id]: Enumeration index, PCI bus ID or UUID. Provide comma separated values for more than one device.
    [-l | --list]: List all compute policies.
    [--set-timeslice]: Set timeslice config: 0=DEFAULT, 1=SHORT, 2=MEDIUM, 3=LONG
";

const TOPOLOGY: &str = "\
    topo -- Display topological information about the system.

    Usage: nvidia-smi topo -m [-i ID]

    Options include:
    [-m | --matrix]: Display the GPUDirect communication matrix for the system.
    [-i | --id]: Enumeration index, PCI bus ID or UUID. Provide comma separated values for more than one device.
    [-h | --help]: Display help information.
";

const LINKS: &str = "\
    nvlink -- Display NvLink information.

    Usage: nvidia-smi nvlink [options]

    Options include:
    [-h | --help]: Display help information.
    [-i | --id]: Enumeration index, PCI bus ID or UUID. Provide comma separated values for more than one device.
    [-s | --status]: Display link state (active/inactive).
    [-c | --capabilities]: Display link capabilities.
";

const MONITOR: &str = "\
    dmon, pmon -- Display device or process stats in scrolling format.

    Usage: nvidia-smi dmon|pmon [options]

    Options include:
    [-h | --help]: Display help information.
    [-i | --id]: Enumeration index, PCI bus ID or UUID. Provide comma separated values for more than one device.
    [-d | --delay]: Collection delay/interval in seconds [default=1sec].
    [-c | --count]: Collect specified number of samples and exit.
    [-s | --select]: One or more metrics: dmon p power and temperature, u utilization, c clocks, m memory, e errors, t PCIe;
             pmon u utilization, m memory.
    [-f | --filename]: Log to a specified file, rather than to stdout.
";
