// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Friends",
    platforms: [.macOS(.v15), .iOS(.v18)],
    dependencies: [.package(path: "../errand")],
    targets: [
        .target(name: "Friends", dependencies: [.product(name: "Errand", package: "errand")]),
        .testTarget(
            name: "FriendsTests",
            dependencies: [
                "Friends",
                .product(name: "Errand", package: "errand"),
                .product(name: "ErrandTesting", package: "errand"),
            ]),
    ]
)
