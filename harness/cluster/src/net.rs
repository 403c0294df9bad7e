//! The cluster's network: a bridge in the cluster's namespace, one veth per node, fixed private addresses, and no uplink.
//! Not the pods' network: the CNI plugins make that, with the configuration from `node::config`.
//! Spoken over rtnetlink by the processes that just made the namespaces; nothing here touches the host's network.
use std::{fs, net::Ipv4Addr, os::fd::AsRawFd};

use futures::TryStreamExt;
use rtnetlink::{
    Handle, LinkBridge, LinkMessageBuilder, LinkUnspec, LinkVeth, RouteMessageBuilder,
    packet_route::{
        link::{InfoData, InfoVeth, LinkAttribute},
        route::RouteType,
    },
};

use crate::ns::{Refused, enter::explain};

/// The cluster's own address on the bridge: the API server, and every node's default gateway.
pub(crate) const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 200, 0, 1);
/// Where Services would live.
pub(crate) const SERVICES: &str = "10.96.0.0/16";
/// The Service `kubernetes.default`. It is an address of the cluster's own loopback, so no kube-proxy is needed to reach it.
pub(crate) const KUBERNETES_SERVICE: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 1);
/// Where a cluster would have its DNS. Nothing answers there; without an address the kubelet warns at every pod.
pub(crate) const DNS_SERVICE: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 10);

/// Most nodes that the address plan holds.
pub(crate) const MAX_NODES: u8 = 200;

/// A node's address on the bridge. `index` counts from 0.
pub(crate) fn node_address(index: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 200, 0, 10 + index)
}

/// A node's pod network, a /24.
pub(crate) fn pod_network(index: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 244, 10 + index, 0)
}

const BRIDGE: &str = "nodes";

/// Sets up the cluster's network namespace, in which the caller is.
pub(crate) fn cluster() -> Result<(), Refused> {
    block_on(async {
        let net = connect()?;
        up(&net, "lo").await?;
        address(&net, "lo", KUBERNETES_SERVICE, 32).await?;
        net.link()
            .add(LinkBridge::new(BRIDGE).build())
            .execute()
            .await
            .map_err(lacks("a bridge", "CONFIG_BRIDGE"))?;
        address(&net, BRIDGE, GATEWAY, 24).await?;
        up(&net, BRIDGE).await?;
        // The end of the road: what is not of this cluster is refused at once instead of being asked for.
        let nowhere = RouteMessageBuilder::<Ipv4Addr>::new()
            .kind(RouteType::Unreachable)
            .build();
        net.route()
            .add(nowhere)
            .execute()
            .await
            .map_err(step("add the unreachable default route"))?;
        Ok(())
    })?;
    forward()
}

/// Leaves the cluster's network namespace for a node's own and ties the two together.
pub(crate) fn node(index: u8) -> Result<(), Refused> {
    let cluster_ns = fs::File::open("/proc/self/ns/net")
        .map_err(|e| Refused::unexpected(format!("cannot open /proc/self/ns/net: {e}")))?;
    block_on(async {
        // A netlink socket stays in the namespace that it was made in.
        let outside = connect()?;
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET)
            .map_err(|e| explain("network", e))?;
        let inside = connect()?;
        let peer = format!("node{index}");
        // A node that was there before may not be gone yet: the kernel takes its time with a network namespace.
        if let Ok(old) = find(&outside, &peer).await {
            match outside.link().del(old).execute().await {
                // Gone in between.
                Err(rtnetlink::Error::NetlinkError(e))
                    if e.raw_code() == -(nix::errno::Errno::ENODEV as i32) => {}
                done => {
                    done.map_err(step(&format!("remove the link {peer} of an earlier node")))?
                }
            }
        }
        let far_end = LinkMessageBuilder::<LinkUnspec>::default()
            .name(peer.clone())
            .append_extra_attribute(LinkAttribute::NetNsFd(cluster_ns.as_raw_fd()))
            .build();
        let pair = LinkVeth::new("eth0", &peer)
            .set_info_data(InfoData::Veth(InfoVeth::Peer(far_end)))
            .build();
        inside
            .link()
            .add(pair)
            .execute()
            .await
            .map_err(lacks("a veth pair", "CONFIG_VETH"))?;
        let bridge = find(&outside, BRIDGE).await?;
        let far = find(&outside, &peer).await?;
        let to_bridge = LinkUnspec::new_with_index(far)
            .controller(bridge)
            .up()
            .build();
        outside
            .link()
            .set(to_bridge)
            .execute()
            .await
            .map_err(step("attach the node to the bridge"))?;

        up(&inside, "lo").await?;
        address(&inside, "eth0", node_address(index), 24).await?;
        up(&inside, "eth0").await?;
        let default = RouteMessageBuilder::<Ipv4Addr>::new()
            .gateway(GATEWAY)
            .build();
        inside
            .route()
            .add(default)
            .execute()
            .await
            .map_err(step("add the node's default route"))?;
        let pods = RouteMessageBuilder::<Ipv4Addr>::new()
            .destination_prefix(pod_network(index), 24)
            .gateway(node_address(index))
            .build();
        outside
            .route()
            .add(pods)
            // The bridge keeps the route of a node that is gone.
            .replace()
            .execute()
            .await
            .map_err(step("add the route to the node's pods"))?;
        Ok(())
    })
}

/// Lets this network namespace pass packets on (between pods and nodes; there is nowhere else to pass them to).
pub(crate) fn forward() -> Result<(), Refused> {
    let path = "/proc/sys/net/ipv4/ip_forward";
    fs::write(path, "1").map_err(|e| {
        Refused::new(
            format!("cannot write {path}: {e}"),
            "mount /proc without masks",
        )
    })
}

fn block_on(f: impl Future<Output = Result<(), Refused>>) -> Result<(), Refused> {
    // Current-thread: a thread would be refused after unshare(CLONE_NEWPID).
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Refused::unexpected(format!("cannot start a runtime: {e}")))?
        .block_on(f)
}

fn connect() -> Result<Handle, Refused> {
    let (connection, handle, _) = rtnetlink::new_connection().map_err(|e| {
        Refused::new(
            format!("cannot open a netlink socket: {e}"),
            "allow AF_NETLINK here",
        )
    })?;
    tokio::spawn(connection);
    Ok(handle)
}

async fn find(net: &Handle, name: &str) -> Result<u32, Refused> {
    let doing = step(&format!("find the link {name}"));
    let found = net
        .link()
        .get()
        .match_name(name.to_owned())
        .execute()
        .try_next()
        .await;
    found
        .map_err(doing)?
        .map(|m| m.header.index)
        .ok_or_else(|| Refused::unexpected(format!("there is no link {name}")))
}

async fn up(net: &Handle, name: &str) -> Result<(), Refused> {
    let index = find(net, name).await?;
    net.link()
        .set(LinkUnspec::new_with_index(index).up().build())
        .execute()
        .await
        .map_err(step(&format!("bring {name} up")))
}

async fn address(net: &Handle, name: &str, address: Ipv4Addr, prefix: u8) -> Result<(), Refused> {
    let index = find(net, name).await?;
    net.address()
        .add(index, address.into(), prefix)
        .execute()
        .await
        .map_err(step(&format!("give {name} the address {address}/{prefix}")))
}

fn step(doing: &str) -> impl FnOnce(rtnetlink::Error) -> Refused + use<> {
    let what = format!("cannot {doing}");
    move |e| {
        Refused::new(
            format!("{what}: {e}"),
            "the kernel refused a change of a network namespace of our own",
        )
    }
}

fn lacks(what: &str, option: &str) -> impl FnOnce(rtnetlink::Error) -> Refused + use<> {
    let (what, remedy) = (
        format!("cannot make {what}"),
        format!("a kernel with {option} (module loaded) is needed"),
    );
    move |e| Refused::new(format!("{what}: {e}"), remedy)
}
