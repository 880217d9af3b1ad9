import ErrandTestSupport
import Foundation
import Testing

@Suite("The privacy manifest") struct PrivacyManifestTests {
    private struct Manifest: Decodable {
        struct Access: Decodable {
            var NSPrivacyAccessedAPIType: String
            var NSPrivacyAccessedAPITypeReasons: [String]
        }

        var NSPrivacyTracking: Bool
        var NSPrivacyTrackingDomains: [String]
        var NSPrivacyCollectedDataTypes: [[String: String]]
        var NSPrivacyAccessedAPITypes: [Access]
    }

    private static let sources = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Sources/Errand").standardized

    @Test("it declares that nothing is tracked or collected, and why the status of files is read")
    func content() throws {
        let data = try Data(contentsOf: Self.sources.appending(path: "PrivacyInfo.xcprivacy"))
        let manifest = try PropertyListDecoder().decode(Manifest.self, from: data)
        #expect(!manifest.NSPrivacyTracking)
        #expect(manifest.NSPrivacyTrackingDomains.isEmpty && manifest.NSPrivacyCollectedDataTypes.isEmpty)
        #expect(
            manifest.NSPrivacyAccessedAPITypes.map(\.NSPrivacyAccessedAPIType)
                == ["NSPrivacyAccessedAPICategoryFileTimestamp"])
        // Files in the containers of the app, and files that the user has chosen.
        #expect(manifest.NSPrivacyAccessedAPITypes.first?.NSPrivacyAccessedAPITypeReasons == ["C617.1", "3B52.1"])
    }

    @Test("the library uses nothing of the other kinds that Apple wants a reason for")
    func others() throws {
        let others = [
            "systemUptime", "mach_absolute_time", "volumeAvailableCapacity", "volumeTotalCapacity", "statfs", "statvfs",
            "systemFreeSize", "systemSize", "getattrlist", "activeInputModes", "UserDefaults",
        ]
        let names = try #require(FileManager.default.enumerator(atPath: Self.sources.path))
            .compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }
        #expect(names.count > 100)
        for name in names {
            let text = try String(contentsOf: Self.sources.appending(path: name), encoding: .utf8)
            for other in others where text.contains(other) {
                Issue.record("\(name) uses \(other); declare it in the privacy manifest, or do without it")
            }
        }
    }
}
