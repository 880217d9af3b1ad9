import ErrandFleet
import ErrandSimulation
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// An etcd of one member on this machine, with a folder of its own.
package struct LocalEtcd: Sendable {
    /// Whether the program is installed.
    package static var isInstalled: Bool { path != nil }

    private static var path: String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return folders.map { "\($0)/etcd" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The address of its client port.
    package let address: String
    private let process: Child
    private let folder: String

    /// Starts it, and waits until it responds.
    package init() async throws {
        guard let path = Self.path else { throw Child.Failure(description: "etcd is not installed") }
        let probes = [try LoopbackServer(), try LoopbackServer()]
        let urls = probes.map { "http://127.0.0.1:\($0.port)" }
        for probe in probes { probe.close() }
        folder = FileManager.default.temporaryDirectory.appending(path: "errand-etcd-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        address = urls[0]
        process = try Child(
            path,
            [
                "--data-dir", "\(folder)/data", "--listen-client-urls", urls[0], "--advertise-client-urls", urls[0],
                "--listen-peer-urls", urls[1], "--initial-advertise-peer-urls", urls[1],
                "--initial-cluster", "default=\(urls[1])", "--logger", "zap", "--log-outputs", "\(folder)/log",
            ])
        let store = EtcdFleetStore([address])
        for _ in 0..<100 {
            do throws(FleetStoreError) {
                _ = try await store.read("ready")
                return
            } catch {
                try await Task.sleep(for: .milliseconds(100))
            }
        }
        end()
        throw Child.Failure(description: "etcd does not respond at \(address)")
    }

    /// Kills it, and removes its folder.
    package func end() {
        process.kill()
        // It is in the system's folder for temporary files.
        try? FileManager.default.removeItem(atPath: folder)
    }
}
