// swift-tools-version: 6.2
import PackageDescription

let house: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// The privacy manifest is for apps. As a resource it brings a bundle, and code that imports Foundation, so it is one
// only where apps are built.
let privacyManifest = "PrivacyInfo.xcprivacy"
#if os(macOS)
let (resources, excluded): ([Resource], [String]) = ([.copy(privacyManifest)], [])
#else
let (resources, excluded): ([Resource], [String]) = ([], [privacyManifest])
#endif

let package = Package(
    name: "Errand",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Errand", targets: ["Errand"]),
        .library(name: "ErrandFleet", targets: ["ErrandFleet"]),
        .library(name: "ErrandJSON", targets: ["ErrandJSON"]),
        .library(name: "ErrandTesting", targets: ["ErrandTesting"]),
        .library(name: "ErrandSimulation", targets: ["ErrandSimulation"]),
    ],
    traits: [
        .trait(
            name: "URLSession", description: "Builds URLSessionTransport on Linux too, where it is not the default."),
        .trait(name: "LinkedCurl", description: "Links libcurl on Linux, instead of opening it when the program runs."),
    ],
    targets: [
        .target(name: "ErrandJSON", swiftSettings: house),
        .target(
            name: "CCurl",
            cSettings: [.define("ERRAND_LINKED_CURL", .when(platforms: [.linux], traits: ["LinkedCurl"]))],
            linkerSettings: [.linkedLibrary("curl", .when(platforms: [.linux], traits: ["LinkedCurl"]))]),
        .target(
            name: "Errand",
            dependencies: ["ErrandJSON", .target(name: "CCurl", condition: .when(platforms: [.linux]))],
            exclude: excluded, resources: resources, swiftSettings: house),
        .target(
            name: "ErrandFleet",
            dependencies: ["Errand", .target(name: "CCurl", condition: .when(platforms: [.linux]))],
            swiftSettings: house),
        // The test kit is for programs too: only ErrandTesting imports the frameworks for tests, which no app may link.
        .target(name: "ErrandSimulation", dependencies: ["Errand", "ErrandFleet"], swiftSettings: house),
        .target(name: "ErrandTesting", dependencies: ["Errand", "ErrandSimulation"], swiftSettings: house),
        // The four backends of the example services; no product, since they are not needed outside of this package.
        .target(name: "ExampleServer", dependencies: ["Errand", "ErrandSimulation"], swiftSettings: house),
        .target(name: "ExampleServices", dependencies: ["Errand"], swiftSettings: house),
        .executableTarget(
            name: "errand-demo",
            dependencies: [
                "ChildProcess", "Errand", "ErrandFleet", "ErrandSimulation", "ExampleServer", "ExampleServices",
            ], swiftSettings: house),
        // The programs that it measures the wire against are built with it; nothing of them is linked.
        .executableTarget(
            name: "errand-bench",
            dependencies: [
                "CAllocations", "ChildProcess", "Errand", "ErrandFleet", "ErrandSimulation", "FleetNode", "TokenSharer",
                "wire-peer", "wire-urlsession",
            ],
            swiftSettings: house),
        .target(name: "CAllocations"),
        // Processes that the demo and the benchmark start.
        .target(
            name: "ChildProcess", dependencies: ["Errand", "ErrandFleet", "ErrandSimulation"], swiftSettings: house),
        .executableTarget(name: "wire-peer", dependencies: ["CAllocations"]),
        .executableTarget(name: "wire-urlsession", swiftSettings: house),
        .executableTarget(
            name: "TokenSharer", dependencies: ["Errand", "ErrandFleet"], path: "Tests/TokenSharer",
            swiftSettings: house),
        .executableTarget(
            name: "FleetNode", dependencies: ["Errand", "ErrandFleet"], path: "Tests/FleetNode", swiftSettings: house),
        .executableTarget(
            name: "TransportProbe", dependencies: ["Errand", "ErrandSimulation"], path: "Tests/TransportProbe",
            swiftSettings: house),
        // Limits how many tests run at once.
        .target(name: "TestWidth", path: "Tests/Width"),
        // What the tests of several targets need.
        .target(
            name: "ErrandTestSupport", dependencies: ["Errand", "ErrandTesting", "TestWidth"], path: "Tests/Support",
            swiftSettings: house),
        // Values and virtual time, in three targets, so that a change compiles only one of them; then what needs a
        // server on the loopback interface; then what needs other programs.
        .testTarget(
            name: "ErrandTests", dependencies: ["Errand", "ErrandTesting", "ErrandTestSupport"], swiftSettings: house),
        .testTarget(
            name: "LayerTests", dependencies: ["Errand", "ErrandTesting", "ErrandTestSupport"], swiftSettings: house),
        .testTarget(
            name: "AuthTests", dependencies: ["Errand", "ErrandTesting", "ErrandTestSupport"], swiftSettings: house),
        .testTarget(
            name: "LoopbackTests", dependencies: ["Errand", "ErrandTesting", "ErrandTestSupport"],
            swiftSettings: house),
        .testTarget(
            name: "ProcessTests", dependencies: ["Errand", "ErrandTesting", "ErrandTestSupport"], swiftSettings: house),
        .testTarget(
            name: "ErrandFleetTests", dependencies: ["Errand", "ErrandFleet", "ErrandTesting", "ErrandTestSupport"],
            swiftSettings: house),
        .testTarget(name: "ErrandJSONTests", dependencies: ["ErrandJSON", "ErrandTestSupport"], swiftSettings: house),
        .testTarget(
            name: "SampleTests",
            dependencies: [
                "Errand", "ErrandFleet", "ErrandTesting", "ErrandTestSupport", "ExampleServer", "ExampleServices",
            ], swiftSettings: house),
        .testTarget(
            name: "ExampleTests",
            dependencies: ["Errand", "ErrandTesting", "ErrandTestSupport", "ExampleServer", "ExampleServices"],
            swiftSettings: house),
        // An app's target: all on the main actor, beside a module with the names that apps meet.
        .target(name: "NeighborNames", path: "Tests/NeighborNames", swiftSettings: house),
        .target(
            name: "MainActorApp", dependencies: ["Errand", "NeighborNames"], path: "Tests/MainActorApp",
            swiftSettings: house + [.defaultIsolation(MainActor.self)]),
        .testTarget(
            name: "MainActorTests", dependencies: ["Errand", "ErrandTesting", "ErrandTestSupport", "MainActorApp"],
            swiftSettings: house),
        // Small programs, written with the documentation alone and without settings of ours.
        .target(name: "GitHubClient", dependencies: ["Errand"], path: "Tests/Programs/GitHubClient"),
        .target(name: "ChatClient", dependencies: ["Errand"], path: "Tests/Programs/ChatClient"),
        .target(
            name: "PhotoScreen", dependencies: ["Errand"], path: "Tests/Programs/PhotoScreen",
            swiftSettings: [.defaultIsolation(MainActor.self)]),
        .target(name: "CalendarServer", dependencies: ["Errand"], path: "Tests/Programs/CalendarServer"),
        .executableTarget(name: "ReleaseTool", dependencies: ["Errand"], path: "Tests/Programs/ReleaseTool"),
        .executableTarget(name: "BackupTool", dependencies: ["Errand"], path: "Tests/Programs/BackupTool"),
        .target(name: "ToolChat", dependencies: ["Errand"], path: "Tests/Programs/ToolChat"),
        .target(name: "FrontPage", dependencies: ["Errand"], path: "Tests/Programs/FrontPage"),
        .testTarget(
            name: "ProgramTests",
            dependencies: [
                "Errand", "ErrandTesting", "ErrandTestSupport", "GitHubClient", "ChatClient", "PhotoScreen",
                "CalendarServer", "ReleaseTool", "BackupTool", "ToolChat", "FrontPage",
            ], swiftSettings: house),
        .testTarget(
            name: "ErrandTestingTests", dependencies: ["Errand", "ErrandTesting", "ErrandTestSupport"],
            swiftSettings: house),
    ],
    swiftLanguageModes: [.v6]
)

// A sanitizer compiles everything once more. If this variable names a test target, only that one is compiled.
if let tests = Context.environment["ERRAND_TESTS"] {
    package.targets.removeAll { $0.type == .executable || $0.type == .test && $0.name != tests }
}
